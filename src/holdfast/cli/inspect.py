"""`holdfast inspect LOCATION`: what is in a checkpoint, and what the next start will do."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime

import click

from holdfast.checkpoint.read import Checkpoint
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.inspect_text import render_text
from holdfast.cli.inspection import Inspection, inspect_checkpoint
from holdfast.cli.watch import watch
from holdfast.errors import ConfigError
from holdfast.evidence.outcomes import Unknown
from holdfast.evidence.versions import KNOWN, SparkVersion
from holdfast.printable import printable
from holdfast.storage.open import open_reader
from holdfast.storage.options import parse_options
from holdfast.storage.read import Reader

_VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})(\..*)?")
_LOOKED_INTO = 20


@click.command()
@click.argument("location")
@click.option(
    "--batch", type=click.IntRange(min=0), help="Show one batch: its ranges and settings."
)
@click.option("--state", is_flag=True, help="Show every state store, and count its rows.")
@click.option("--files", is_flag=True, help="List every file.")
@click.option("--spark", metavar="VERSION", help="The Spark that will be started, such as 4.2.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option(
    "--storage-option",
    "storage_options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the bucket, such as endpoint=http://localhost:8333. Can be repeated.",
)
def inspect(  # noqa: PLR0913 - one parameter per option
    *,
    location: str,
    batch: int | None,
    state: bool,
    files: bool,
    spark: str | None,
    form: str,
    storage_options: tuple[str, ...],
) -> ExitCode:
    """Say what is in a checkpoint and what Spark will do on the next start.

    LOCATION is a directory on disk or in a bucket: /data/checkpoint, s3://bucket/path, gs://…,
    abfss://…. Nothing is written, and no Spark is needed.
    """
    version = None if spark is None else _parse_version(spark)
    reader = open_reader(location, parse_options(storage_options))
    with watch(reader) as watched:
        inspection = inspect_checkpoint(
            watched,
            spark=version,
            batch=batch,
            state=state,
            files=files,
        )
    if form == "json":
        from holdfast.cli.inspect_json import render_json  # noqa: PLC0415 - costs 50 ms

        click.echo(render_json(inspection))
    else:
        _echo(render_text(inspection, now=datetime.now(tz=UTC)))
    return _judge(reader, inspection, form)


def _judge(reader: Reader, inspection: Inspection, form: str) -> ExitCode:
    checkpoint = inspection.overview.checkpoint
    if checkpoint.is_empty:
        if form == "text":
            _echo(_suggest(reader, checkpoint))
        return ExitCode.NOT_JUDGED
    unknown = isinstance(inspection.overview.next_start, Unknown)
    return ExitCode.NOT_JUDGED if unknown else ExitCode.DONE


def _suggest(reader: Reader, checkpoint: Checkpoint) -> list[str]:
    """Name checkpoints right below a location that is none: most often a path is one part short."""
    names = reader.list().directories
    below = [name for name in names[:_LOOKED_INTO] if "offsets" in reader.list(name).directories]
    return [f"There is one below it: {checkpoint.location.join(name)}" for name in below]


def _parse_version(text: str) -> SparkVersion:
    matched = _VERSION.fullmatch(text)
    version = (int(matched[1]), int(matched[2])) if matched else None
    if version not in KNOWN:
        known = ", ".join(f"{major}.{minor}" for major, minor in KNOWN)
        raise ConfigError(f"--spark {text} is not a version of Spark that is known here ({known}).")
    return version


def _echo(lines: list[str]) -> None:
    for line in lines:
        sys.stdout.write(printable(line) + "\n")
