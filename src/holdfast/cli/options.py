"""Options that several commands have, written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def all_of(*options: Decorator) -> Decorator:
    """Return what adds several options to a command, in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


with_format = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
with_storage_options = click.option(
    "--storage-option",
    "storage_options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the bucket, such as endpoint=http://localhost:8333. Can be repeated.",
)
