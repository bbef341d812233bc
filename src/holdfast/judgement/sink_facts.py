"""What the log of a sink tells of a query: that it writes there, in which mode, with which Spark.

Delta's own sink writes the query's id, the output mode and the engine into every commit. Iceberg's
writes the query's id, the operation and the application into every snapshot. Spark's file sink
writes batch numbers only; it takes no other mode than append.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from holdfast.checkpoint.file_sink import DIRECTORY
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.evidence.case import Case
from holdfast.evidence.outputs.delta import DeltaOutput, OutputCommit
from holdfast.evidence.outputs.files import FileOutput
from holdfast.evidence.outputs.iceberg import IcebergOutput
from holdfast.evidence.outputs.output import NotRead
from holdfast.formats.delta_log import commit_path

_MODES = ("append", "complete", "update")
_ICEBERG_MODES = {"append": "append", "overwrite": "complete", "delete": "complete"}
_SPARK = re.compile(r"Apache-Spark/([0-9][0-9A-Za-z.+-]{0,31})")
_OWN_BUILD = re.compile(r"[0-9][0-9A-Za-z.+-]{0,31}")


class SinkLogFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What one sink tells."""

    display_name: str
    """With the newest batch that it has of the query."""
    where: str
    """The file that tells it."""
    mode: str | None = None
    mode_where: str = ""
    spark: str | None = None
    changes: tuple[str, ...] = ()
    """What changed between two batches and can only change with a start, oldest first."""


def ask_sinks(case: Case) -> tuple[SinkLogFacts, ...]:
    """Return what each sink tells that was named and could be read."""
    metadata = case.checkpoint.metadata
    query = metadata.query_id if isinstance(metadata, QueryMetadata) else ""
    return tuple(_ask(each, query) for each in case.outputs if not isinstance(each, NotRead))


def _ask(output: DeltaOutput | FileOutput | IcebergOutput, query: str) -> SinkLogFacts:
    match output:
        case DeltaOutput():
            return _ask_delta(output, query)
        case IcebergOutput():
            return _ask_iceberg(output, query)
        case FileOutput():
            return _ask_files(output)


def _ask_delta(output: DeltaOutput, query: str) -> SinkLogFacts:
    streamed = output.streamed(query)
    shown = f"{output.display_name} ({_say_batch(output.last_batch(query))})"
    if not streamed:
        return SinkLogFacts(display_name=shown, where="--sink")
    newest = streamed[0]
    where = commit_path(newest.version)
    mode = newest.output_mode.lower()
    return SinkLogFacts(
        display_name=shown,
        where=where,
        mode=mode if mode in _MODES else None,
        mode_where=where,
        spark=_spark_of(newest),
        changes=tuple(_engine_changes(streamed, query)),
    )


def _engine_changes(streamed: tuple[OutputCommit, ...], query: str) -> Iterator[str]:
    for before, after in pairwise(reversed(streamed)):
        old, new = _spark_of(before), _spark_of(after)
        if old and new and old != new:
            yield f"Spark {old} became {new} before batch {after.transactions[query]}"


def _spark_of(commit: OutputCommit) -> str | None:
    found = _SPARK.search(commit.engine)
    return None if found is None else found[1]


def _ask_iceberg(output: IcebergOutput, query: str) -> SinkLogFacts:
    writer = output.writer(query)
    if writer is None:
        return SinkLogFacts(
            display_name=f"{output.display_name} ({_say_batch(None)})", where="--sink"
        )
    newest = writer.newest if writer.newest >= 0 else None
    changes = tuple(f"another application, {each}" for each in writer.applications[1:])
    return SinkLogFacts(
        display_name=f"{output.display_name} ({_say_batch(newest)})",
        where=output.metadata,
        mode=_ICEBERG_MODES.get(writer.operation),
        mode_where=f"{output.metadata}, operation {writer.operation or 'not said'}",
        spark=writer.engine if _OWN_BUILD.fullmatch(writer.engine) else None,
        changes=changes,
    )


def _ask_files(output: FileOutput) -> SinkLogFacts:
    if not output.has_log:
        return SinkLogFacts(display_name=f"{output.display_name} (no {DIRECTORY})", where="--sink")
    newest = "no batch" if output.newest is None else f"batch {output.newest} of its newest writer"
    return SinkLogFacts(
        display_name=f"{output.display_name} ({newest})",
        where=DIRECTORY,
        mode="append",
        mode_where=f"{DIRECTORY}: Spark's file sink takes no other mode",
    )


def _say_batch(batch: int | None) -> str:
    return "no batch of this query" if batch is None else f"batch {batch}"
