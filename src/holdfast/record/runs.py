"""Runs: one file per start, written by its owner alone: what was started, and how it ended."""

from __future__ import annotations

import re

from holdfast.record.documents import Document, encode, read_document
from holdfast.record.layout import RUNS, run_path
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

_FILE = re.compile(r"runs/([0-9]{6,})-([0-9a-f-]{36})\.json")
RUNNING, FINISHED, FAILED, LOST = "running", "finished", "failed", "lost"


class Run(Document, frozen=True, kw_only=True, tag="holdfast.run"):
    """One start of a stream."""

    epoch: int
    run_id: str
    """Spark's, of this start."""
    generation: int
    contract: str
    """Its digest."""
    spark: str
    started_at: str
    first_batch: int
    """The batch it began with."""
    last_batch: int | None = None
    """The last one that reached every sink in this run."""
    ended: str = RUNNING
    """`running`, `finished`, `failed`, or `lost` to another driver; a kill leaves `running`."""
    ended_at: str = ""
    error: str = ""
    """The class of the error; its text can hold data."""


def write_run(writer: Writer, run: Run) -> None:
    """Write down one's own run."""
    writer.put(run_path(run.epoch, run.run_id), encode(run))


def newest_run(reader: Reader) -> Run | None:
    """Return the run of the highest epoch; None when there was none.

    Raises:
        ReadError, RecordError: It cannot be read.
    """
    found = (_FILE.fullmatch(info.path) for info in reader.list(RUNS).files)
    newest = max(((int(each[1]), each[2]) for each in found if each), default=None)
    return None if newest is None else read_document(reader, run_path(*newest), Run)
