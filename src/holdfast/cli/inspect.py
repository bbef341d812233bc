"""`holdfast inspect LOCATION`: what is in a checkpoint, and what the next start will do."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

import click

from holdfast.bundle.open import open_checkpoint
from holdfast.bundle.opened import Opened
from holdfast.cli.check_text import say_check
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.inspect_directory import DirectoryInspection, inspect_directory
from holdfast.cli.inspect_text import render_text
from holdfast.cli.inspection import (
    Inspection,
    inspect_checkpoint,
    with_cost,
    with_probes,
    with_record,
)
from holdfast.cli.looks import parse_sources, parse_spark, with_probe
from holdfast.cli.options import with_format, with_storage_options
from holdfast.cli.watch import WatchedReader, watch
from holdfast.errors import ConfigError
from holdfast.evidence.checkpoints_below import is_checkpoint
from holdfast.evidence.guard_record import GuardRecord, UnreadableRecord, read_guard_record
from holdfast.evidence.progress_times import MOST_CHARACTERS
from holdfast.evidence.verdict import Verdict
from holdfast.evidence.versions import SparkVersion
from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.storage.open import open_reader
from holdfast.storage.options import parse_options

if TYPE_CHECKING:
    from holdfast.diagnosis.probing import SourceLooks

_LONGEST_LINE = 1_000_000
_DETAILS = ("state", "files", "cost", "probe", "sources")
"""Options that are for one checkpoint, with `--batch`."""


@click.command()
@click.argument("location")
@click.option(
    "--check",
    is_flag=True,
    help="Exit with 1 unless every next start is safe. It is not safe if Spark refuses to start or "
    "fails, if it repeats data (a pending batch, a source that is read again), if that is unknown, "
    "or if there is no checkpoint. A pending batch is safe if Holdfast's record says that every "
    "sink of the stream has a ledger. The sinks and the source are not checked, and only --state "
    "opens state files. Use it before a deployment.",
)
@click.option(
    "--batch", type=click.IntRange(min=0), help="Show one batch: its ranges and settings."
)
@click.option(
    "--state", is_flag=True, help="Open the state files that the next start loads, and count rows."
)
@click.option("--files", is_flag=True, help="List every file.")
@click.option(
    "--cost",
    is_flag=True,
    help="Show what the checkpoint costs: files, bytes and requests of a batch, its interval and "
    "its time, and what is kept. Every file is listed, none is opened.",
)
@click.option(
    "--progress",
    metavar="FILE",
    type=click.File("r", encoding="utf-8", errors="replace"),
    help="With --cost: the driver's log (level INFO) or the JSON of query.recentProgress, which "
    "tell how much of a batch's time its checkpoint takes. `-` is standard input.",
)
@click.option("--spark", metavar="VERSION", help="The Spark that will be started, such as 4.2.")
@with_probe
@with_format
@with_storage_options
def inspect(
    *,
    location: str,
    check: bool,
    spark: str | None,
    form: str,
    storage_options: tuple[str, ...],
    **asked: Any,
) -> ExitCode:
    """Say what is in a checkpoint and what Spark will do on the next start.

    LOCATION is a directory on disk, in a bucket or on HDFS: /data/checkpoint, s3://bucket/path,
    gs://…, abfss://…, webhdfs://namenode:9870/…; or the zip of `holdfast evidence`. If it is not a
    checkpoint itself, every checkpoint below it gets a row in a table. Nothing is written, and
    Spark is not needed.
    """
    version = None if spark is None else parse_spark(spark)
    if asked["progress"] is not None and not asked["cost"]:
        raise ConfigError("--progress tells what a checkpoint costs: add --cost.")
    options = parse_options(storage_options)
    opened = open_checkpoint(location, options)
    found: Inspection | DirectoryInspection | None = None
    with watch(opened.checkpoint) as watched:
        if opened.bundle is None and not is_checkpoint(watched, watched.list()):
            found = _look_below(watched, options, version)
            _refuse_details(found, asked)
        if found is None:
            looked = _look_at_one(watched, version, asked)
            found = with_record(looked, _find_record(opened))
            if asked["probe"] or asked["sources"]:
                found = with_probes(found, watched, _source_looks(found, options, asked))
    _show(found, form)
    if check and form == "text":
        _write([say_check(found)])
    return _exit_code(found, check=check)


def _look_at_one(
    watched: WatchedReader, spark: SparkVersion | None, asked: Mapping[str, Any]
) -> Inspection:
    """Look at a checkpoint, and at what was asked for of it alone."""
    details = {name: asked[name] for name in ("batch", "state", "files")}
    found = inspect_checkpoint(watched, spark=spark, **details)
    return with_cost(found, watched, _read_progress(asked["progress"])) if asked["cost"] else found


def _look_below(
    watched: WatchedReader, options: Mapping[str, str], spark: SparkVersion | None
) -> DirectoryInspection | None:
    """Return the checkpoints below a directory; None when there is none."""
    found = inspect_directory(
        watched,
        open_at=lambda place: open_reader(place, options),
        spark=spark,
        tell=watched.judged,
    )
    return found if found.rows else None


def _refuse_details(found: DirectoryInspection | None, asked: Mapping[str, Any]) -> None:
    # Batch 0 is asked for too.
    is_asked = asked["batch"] is not None or any(asked[each] for each in _DETAILS)
    if found is not None and is_asked:
        raise ConfigError(
            "--batch, --state, --files, --cost, --probe and --source are for one checkpoint; "
            f"{found.location} is a directory with {len(found.rows):,} below it, such as "
            f"{found.rows[0].location}."
        )


def _read_progress(file: TextIO | None) -> str | None:
    """Return the end of a file, at most as much as is looked at."""
    if file is None:
        return None
    kept: deque[str] = deque()
    length = 0
    for line in iter(lambda: file.readline(_LONGEST_LINE), ""):
        kept.append(line)
        length += len(line)
        while length - len(kept[0]) > MOST_CHARACTERS:
            length -= len(kept.popleft())
    return "".join(kept)


def _source_looks(
    found: Inspection, options: Mapping[str, str], asked: Mapping[str, Any]
) -> SourceLooks:
    from holdfast.diagnosis.probing import SourceLooks  # noqa: PLC0415 - imports the diagnosis

    return SourceLooks(
        given=parse_sources(asked["sources"]),
        options=options,
        kafka_config=asked["kafka_config"],
        contract=None if found.guard is None else found.guard.contract,
        topic_ids={},
        now=datetime.now(tz=UTC),
    )


def _find_record(opened: Opened) -> GuardRecord | UnreadableRecord | None:
    """Read the record beside a checkpoint."""
    root, name = opened.root, opened.checkpoint.location.name
    return None if root is None else read_guard_record(root, name)


def _show(found: Inspection | DirectoryInspection, form: str) -> None:
    if form == "json":
        from holdfast.cli.inspect_json import render_json  # noqa: PLC0415 - costs 50 ms

        click.echo(render_json(found))
        return
    now = datetime.now(tz=UTC)
    if isinstance(found, Inspection):
        lines = render_text(found, now=now)
    else:
        from holdfast.cli.inspect_directory_text import render_directory  # noqa: PLC0415 - a table

        lines = render_directory(found, now=now)
    _write(lines)


def _write(lines: list[str]) -> None:
    for line in lines:
        sys.stdout.write(printable(redact(line)) + "\n")


def _exit_code(found: Inspection | DirectoryInspection, *, check: bool) -> ExitCode:
    if isinstance(found, Inspection):
        passes = found.verdict.passes
        is_judged = found.unanswered is None and found.verdict not in (
            Verdict.UNKNOWN,
            Verdict.NOTHING,
        )
    else:
        passes = found.passes
        unknown = any(each.verdict is Verdict.UNKNOWN for each in found.judged)
        is_judged = not unknown and not found.unread
    if check and not passes:
        return ExitCode.FOUND
    if check:
        is_judged = isinstance(found, DirectoryInspection) or found.unanswered is None
    return ExitCode.DONE if is_judged else ExitCode.NOT_JUDGED
