"""How far a command of minutes has got: its log, on stderr.

On a terminal the newest line replaces the last; a file or a pipe gets every line. So nobody waits
in silence, and a log of CI says where the time went.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from holdfast.cli.status_line import status_line
from holdfast.clock import monotonic
from holdfast.printable import printable


class _Shown(logging.Handler):
    """Shows every record, with the time since the command was started."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._show = show
        self._began = monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        """Show one."""
        minutes, seconds = divmod(int(monotonic() - self._began), 60)
        self._show(f"{minutes}:{seconds:02} {record.getMessage()}")


@contextmanager
def progress(of: str) -> Iterator[None]:
    """Show what a logger says from INFO on, until the end."""
    logger = logging.getLogger(of)
    level = logger.level
    with status_line() as replace_line:
        handler = _Shown(replace_line if sys.stderr.isatty() else _write_line)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)


def _write_line(text: str) -> None:
    click.echo(printable(text), err=True)
