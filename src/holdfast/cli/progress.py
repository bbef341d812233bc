"""How far a command of seconds or minutes has got, on stderr: every step when it begins.

On a terminal the newest step replaces the last, and its clock ticks, so that a step of a minute
does not look like a command that hangs. A file or a pipe gets every step once, so that a log of CI
says where the time went. Standard output is never written to.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from holdfast.cli.status_line import status_line
from holdfast.clock import monotonic
from holdfast.printable import printable

_TICK_S = 1.0


class Progress:
    """Shows each step of a command, with the time since the command was started."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """Show nothing yet."""
        self._write = write
        self._began = monotonic()
        self._step = ""
        self._lock = threading.Lock()

    def say(self, step: str) -> None:
        """Show a step that begins now."""
        with self._lock:
            self._step = step
            self._write_step()

    def show(self, line: str) -> None:
        """Show a line as it is, such as a bar; its own figures say how far it is."""
        with self._lock:
            self._step = ""
            self._write(line)

    def tick(self) -> None:
        """Show the step again, with the time that it is now."""
        with self._lock:
            if self._step:
                self._write_step()

    def _write_step(self) -> None:
        minutes, seconds = divmod(int(monotonic() - self._began), 60)
        self._write(f"{minutes}:{seconds:02} {self._step}")


class _Steps(logging.Handler):
    """Takes every record of a logger as a step."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(logging.INFO)
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        """Show one."""
        self._progress.say(record.getMessage())


@contextmanager
def progress(of: str) -> Iterator[Progress]:
    """Show what a logger says from INFO on, until the end, and what the command itself says."""
    logger = logging.getLogger(of)
    level = logger.level
    with status_line() as replace_line, _ticking(replace_line) as shown:
        handler = _Steps(shown)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield shown
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)


@contextmanager
def _ticking(replace_line: Callable[[str], None]) -> Iterator[Progress]:
    """Give what shows the steps; on a terminal its clock goes on until the end."""
    if not sys.stderr.isatty():
        yield Progress(_write_line)
        return
    shown, done = Progress(replace_line), threading.Event()
    ticker = threading.Thread(target=_tick, args=(shown, done), daemon=True)
    ticker.start()
    try:
        yield shown
    finally:
        done.set()
        ticker.join()


def _tick(shown: Progress, done: threading.Event) -> None:
    while not done.wait(_TICK_S):
        shown.tick()


def _write_line(text: str) -> None:
    click.echo(printable(text), err=True)
