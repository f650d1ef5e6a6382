"""Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interrupts:
    """Turns Ctrl-C and SIGTERM into KeyboardInterrupt: at once, or if `patient` only the second one.

    `number` is that of the first signal, and None before it comes.
    """

    def __init__(self, patient: bool = False) -> None:
        self.patient = patient
        self.number: int | None = None
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():  # only there can handlers be set, and do they run
            for number in (signal.SIGINT, signal.SIGTERM):
                self._handlers[number] = signal.signal(number, self._request)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    @property
    def requested(self) -> bool:
        """Whether a signal has come."""
        return self.number is not None

    @property
    def status(self) -> int:
        """The exit status of a command that was stopped by the signal: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.number or signal.SIGINT)

    def _request(self, number: int, frame: FrameType | None) -> None:
        first = self.number is None
        if first:
            self.number = number
        if not (first and self.patient):
            raise KeyboardInterrupt
