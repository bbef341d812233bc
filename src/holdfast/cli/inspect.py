"""`holdfast inspect LOCATION`: what is in a checkpoint, and what the next start will do."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, TextIO

import click

from holdfast.bundle.open import open_checkpoint, refuse_unseen_record
from holdfast.bundle.opened import Opened
from holdfast.cli.check_text import say_check
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.inspect_directory import DirectoryInspection, Summary, inspect_directory
from holdfast.cli.inspect_text import render_text
from holdfast.cli.inspection import (
    Inspection,
    Probe,
    Record,
    inspect_checkpoint,
    with_cost,
)
from holdfast.cli.looks import parse_sources, parse_spark, with_event_log, with_probe
from holdfast.cli.options import with_format, with_storage_options
from holdfast.cli.watch import WatchedReader, watch
from holdfast.errors import ConfigError
from holdfast.evidence.candidates import is_checkpoint
from holdfast.evidence.case import Case
from holdfast.evidence.guard_record import GuardRecord, read_guard_record
from holdfast.evidence.outcomes import Unknown
from holdfast.evidence.progress_times import MOST_CHARACTERS
from holdfast.judgement.judge import Judgement, Verdict
from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.spark_versions import SparkVersion
from holdfast.storage.open import open_reader
from holdfast.storage.options import parse_options

_LONGEST_LINE = 1_000_000
_DETAILS = ("state", "files", "cost", "probe", "sources", "event_log")
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
@with_event_log
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
    asked |= {"spark": version, "options": options}
    opened = open_checkpoint(location, options)
    found: Inspection | DirectoryInspection | None = None
    with watch(opened.checkpoint) as watched:
        if opened.bundle is None and not is_checkpoint(watched, watched.list()):
            found = _look_below(watched, options, version)
            _refuse_details(found, asked)
        if found is None:
            found = _look_at_one(watched, opened, asked)
    _show(found, form)
    if check and form == "text":
        _write([say_check(found)])
    return _exit_code(found, check=check)


def _look_at_one(watched: WatchedReader, opened: Opened, asked: Mapping[str, Any]) -> Inspection:
    """Look at a checkpoint, and at what was asked for of it alone."""
    refuse_unseen_record(opened)
    details = {name: asked[name] for name in ("spark", "batch", "state", "files")}
    root, name = opened.root, opened.checkpoint.location.name
    record = None if root is None else read_guard_record(root, name)
    found = inspect_checkpoint(
        watched,
        record=record,
        root=None if root is None else str(root.location),
        probe=_probe_with(watched, record, asked) if asked["probe"] or asked["sources"] else None,
        add_event_log=_event_log_at(asked),
        **details,
    )
    return with_cost(found, watched, _read_progress(asked["progress"])) if asked["cost"] else found


def _event_log_at(asked: Mapping[str, Any]) -> Callable[[Case], Case] | None:
    """Return what adds the history of the query; None if no event log was named."""
    if asked["event_log"] is None:
        return None
    from holdfast.evidence.event_log import add_event_log  # noqa: PLC0415 - rarely asked for

    return partial(add_event_log, location=asked["event_log"], options=asked["options"])


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
            "--batch, --state, --files, --cost, --probe, --source and --event-log are for one "
            f"checkpoint; {found.location} is a directory with {len(found.rows):,} below it, "
            f"such as {found.rows[0].location}."
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


def _probe_with(watched: WatchedReader, record: Record, asked: Mapping[str, Any]) -> Probe:
    """Return what asks the sources of a checkpoint."""
    from holdfast.judgement.probing import probe_sources  # noqa: PLC0415 - on request
    from holdfast.sources.probe import SourceLooks  # noqa: PLC0415 - on request

    looks = SourceLooks(
        given=parse_sources(asked["sources"]),
        options=asked["options"],
        kafka_config=asked["kafka_config"],
        contract=record.contract if isinstance(record, GuardRecord) else None,
        topic_ids={},
        now=datetime.now(tz=UTC),
    )
    return lambda checkpoint: probe_sources(checkpoint, watched, looks)


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
    if isinstance(found, DirectoryInspection):
        is_judged = not found.unread and not any(map(_is_unknown, found.judged))
        passes = found.passes
    else:
        verdict = found.judgement.verdict
        passes = verdict is Verdict.SAFE
        is_judged = found.unanswered is None and verdict is not Verdict.NOTHING
        is_judged = is_judged and not _is_unknown(found.judgement)
        if check and found.unanswered is not None and verdict in (Verdict.UNKNOWN, Verdict.SAFE):
            return ExitCode.NOT_JUDGED
    if check:
        return ExitCode.DONE if passes else ExitCode.FOUND
    return ExitCode.DONE if is_judged else ExitCode.NOT_JUDGED


def _is_unknown(found: Judgement | Summary) -> bool:
    """Return whether a start could not be predicted, or not judged."""
    return found.verdict is Verdict.UNKNOWN or isinstance(found.next_start, Unknown)
