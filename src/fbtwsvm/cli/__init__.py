"""The command ``fbtwsvm``: learn from files, pipes, databases and live streams without writing Python."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command. Exit status: 0 success, 1 wrong data, 2 wrong usage, 130 interrupted."""
    try:
        from .app import run
    except ImportError as error:
        sys.exit(f"fbtwsvm: the command needs {error.name}: pip install 'fbtwsvm[cli]'")
    run(sys.argv[1:])
