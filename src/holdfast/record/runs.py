"""Runs: one file per start, written by its owner alone: what was started, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Annotated

import msgspec
from msgspec import Meta

from holdfast.record.bounds import (
    MAX_EPOCH,
    MAX_TOPICS,
    BatchNumber,
    ContractDigest,
    EpochNumber,
    GenerationNumber,
    Line,
    Timestamp,
    TopicIds,
    Uuid,
    Word,
)
from holdfast.record.documents import Document, find_names, read_document, replace
from holdfast.record.layout import RUNS, SIX_DIGITS, run_path
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

_NAME = re.compile(r"([0-9]{6,})-([0-9a-f-]{36})\.json")
_LOOKED_BACK = 500
"""Starts before: their runs fit in one page of a listing."""
_RUNS_WITHOUT_IDS = 10
"""So many runs are read to find one that knows topic ids: a broker does not always answer."""
MAX_SOURCES = 3
"""Of so many sources topic ids are kept: with the most topics each, they fit in the file."""
RUNNING, FINISHED, STOPPED, FAILED, LOST = "running", "finished", "stopped", "failed", "lost"


class Run(Document, frozen=True, kw_only=True, tag="holdfast.run"):
    """One start of a stream."""

    epoch: EpochNumber
    run_id: Uuid
    """Spark's, of this start."""
    generation: GenerationNumber
    contract: ContractDigest
    """Its digest."""
    spark: Line
    started_at: Timestamp
    first_batch: BatchNumber
    """The batch it began with."""
    last_batch: BatchNumber | None = None
    """The last one that reached every sink in this run; known once the run has ended.

    After a kill it stays None: the ledger, and the `first_batch` of the next run, tell it.
    """
    ended: Word = RUNNING
    """How: `finished` by itself, `stopped` by its program, `failed`, or `lost` to another driver.

    A run that was killed stays `running`.
    """
    ended_at: Timestamp = ""
    error: Line = ""
    """The class of the error; its text can hold data."""
    topic_ids: Annotated[dict[Line, TopicIds], Meta(max_length=MAX_SOURCES)] = msgspec.field(
        default_factory=dict
    )
    """Kafka's id of each topic when the run was started, by the source's place in the query.

    Empty when no topic was asked about, or the broker did not answer.
    """

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return run_path(self.epoch, self.run_id)


def write_run(writer: Writer, run: Run) -> None:
    """Write down one's own run."""
    replace(writer, run)


def newest_run(reader: Reader, *, before: int = MAX_EPOCH + 1) -> Run | None:
    """Return the run of the highest epoch; None when there was none.

    Nearly every start comes to a run, so it is looked for among the last starts before; all runs
    are listed when none of those has one.

    Args:
        reader: Of the stream's record.
        before: An epoch: a run of it or of a later one was not started yet, and is ignored.

    Raises:
        ReadError, RecordError: It cannot be read.
    """
    since = f"{RUNS}/{max(before - _LOOKED_BACK, 0):06d}" if before <= SIX_DIGITS else ""
    newest = _newest(reader, before=before, after=since)
    if newest is None and since:
        newest = _newest(reader, before=before)
    return None if newest is None else read_document(reader, run_path(*newest), Run)


def first_run(reader: Reader, *, generation: int) -> Run | None:
    """Return the oldest run of a generation; None when there was none.

    Raises:
        ReadError, RecordError: A run cannot be read.
    """
    names = find_names(reader, RUNS, _NAME)
    for epoch, run_id in sorted((int(each[1]), each[2]) for each in names):
        run = read_document(reader, run_path(epoch, run_id), Run)
        if run is not None and run.generation == generation:
            return run
    return None


def run_names(reader: Reader) -> list[tuple[int, str]]:
    """Return the epoch and the id of every run, newest first.

    Raises:
        ReadError, RecordError: The runs cannot be listed.
    """
    names = find_names(reader, RUNS, _NAME)
    return sorted(((int(each[1]), each[2]) for each in names), reverse=True)


def bounded_topic_ids(found: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return as many topic ids as a run keeps."""
    return {
        source: dict(islice(sorted(ids.items()), MAX_TOPICS))
        for source, ids in islice(sorted(found.items()), MAX_SOURCES)
    }


def last_topic_ids(reader: Reader, *, before: int, generation: int) -> dict[str, dict[str, str]]:
    """Return the topic ids of the newest run of a generation that has any; else nothing.

    Another generation began with offsets of its own: its topics need not be these.

    Args:
        reader: Of the stream's record.
        before: An epoch: a run of it or of a later one was not started yet, and is ignored.
        generation: Of the checkpoint.

    Raises:
        ReadError, RecordError: A run cannot be read.
    """
    since = f"{RUNS}/{max(before - _LOOKED_BACK, 0):06d}" if before <= SIX_DIGITS else ""
    names = find_names(reader, RUNS, _NAME, after=since)
    epochs = sorted(((int(each[1]), each[2]) for each in names), reverse=True)
    for epoch, run_id in islice((each for each in epochs if each[0] < before), _RUNS_WITHOUT_IDS):
        run = read_document(reader, run_path(epoch, run_id), Run)
        if run is None or run.generation != generation:
            return {}
        if run.topic_ids:
            return run.topic_ids
    return {}


def _newest(reader: Reader, *, before: int, after: str = "") -> tuple[int, str] | None:
    names = find_names(reader, RUNS, _NAME, after=after)
    return max(((int(each[1]), each[2]) for each in names if int(each[1]) < before), default=None)
