"""One line on stderr that says how far a long command has got.

On a terminal only: logs and pipes get nothing. No escape sequence is written, so that it works on
every terminal.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from holdfast.printable import printable


@contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    """Give a function that replaces the line; the line is removed at the end."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    try:
        yield _show
    finally:
        _show("")
        click.echo("\r", nl=False, err=True)


def _show(text: str) -> None:
    """Replace the line; a full one would scroll the terminal, so it is one character shorter."""
    width = shutil.get_terminal_size().columns - 1
    click.echo(f"\r{printable(text)[:width]:<{width}}", nl=False, err=True)
