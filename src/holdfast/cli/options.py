"""Options that several commands have, written once."""

from __future__ import annotations

import click

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
