"""The command ``fbtwsvm``: learn from files, pipes, databases and live streams without writing Python."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; its result is the exit status: 0, 1 for data, 2 for usage, 130 when interrupted."""
    try:
        from .app import run
    except ImportError as error:
        sys.exit(f"fbtwsvm: the command needs {error.name}: pip install 'fbtwsvm[cli]'")
    run(sys.argv[1:])
