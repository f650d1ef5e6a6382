"""The command ``fbtwsvm``: learn from files, pipes, databases and live streams without writing Python."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any


def main() -> None:
    """Run the command. Exit status: 0 success, 1 wrong data, 2 wrong usage, 130 and 143 interrupted."""
    _on_signals(_stop_at_once)
    try:
        from .app import called_verb, load_verb, run

        if verb := called_verb(sys.argv[1:]):
            load_verb(verb)
    except ImportError as error:
        sys.exit(f"fbtwsvm: the command needs {error.name}: pip install 'fbtwsvm[cli]'")
    try:
        run(sys.argv[1:])
    finally:
        _on_signals(signal.SIG_IGN)  # all is done but for leaving


def _on_signals(handler: Any) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def _stop_at_once(number: int, frame: object) -> None:
    """End the process while modules are loaded, which some of them would take for an error of theirs."""
    os.write(2, b"fbtwsvm: interrupted; nothing was written\n")
    os._exit(128 + number)
