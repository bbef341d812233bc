"""What a start of a query can come to. Each outcome names the files it follows from."""

from __future__ import annotations

from enum import StrEnum, unique

import msgspec

from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.ids import BatchId


class Reread(msgspec.Struct, frozen=True, kw_only=True):
    """A source whose offset is gone from an entry: Spark reads again what it has read before."""

    source: str
    after: BatchId | None
    """What lies after this batch is read again; None: everything, from the source's beginning."""


class Resumes(msgspec.Struct, frozen=True, kw_only=True):
    """A new batch, from where the last one ended."""

    batch_id: BatchId
    follows_from: tuple[str, ...]
    rereads: tuple[Reread, ...] = ()
    then: str | None = None
    """The error Spark fails with after the sink has been written; None for none."""
    unless: str | None = None
    """What the checkpoint does not tell and would make Spark refuse instead; None for nothing."""


class RunsAgain(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that was planned before, with the same range."""

    batch_id: BatchId
    follows_from: tuple[str, ...]
    passed_over: tuple[BatchId, ...] = ()
    """Batches that were planned, have no commit entry and are not run again."""
    rereads: tuple[Reread, ...] = ()
    then: str | None = None
    """The error Spark fails with after the sink has been written, at every start; None for none."""
    unless: str | None = None
    """What the checkpoint does not tell and would make Spark refuse instead; None for nothing."""


class StartsFresh(msgspec.Struct, frozen=True, kw_only=True):
    """Batch 0: the options of the source decide where it begins."""

    follows_from: tuple[str, ...]
    new_query_id: bool = True
    then: str | None = None
    """The error Spark fails with after the sink has been written; None for none."""


class Refuses(msgspec.Struct, frozen=True, kw_only=True):
    """Spark does not get going: no row reaches the sink."""

    code: RefusalCode
    error: str
    """What Spark's message names: an error condition, or words of it."""
    because: str
    follows_from: tuple[str, ...]
    in_batch: BatchId | None = None
    """The batch it fails in: planned, and its sink called, before the failure. None: earlier."""


@unique
class UnknownCause(StrEnum):
    """Why a start cannot be predicted."""

    UNREAD = "unread"
    """The store did not let us read a file that Spark reads."""
    NOT_A_DIRECTORY = "not-a-directory"
    """A file or a link is in the place of a directory; Spark follows a link."""
    ASYNC_PROGRESS = "async-progress"
    CONTINUOUS = "continuous-processing"
    STATE_ABSENT = "state-absent"
    """A watermark suggests that the query is stateful, and there is no `state/`."""
    STATE_UNCHECKED = "state-unchecked"
    """There is more state than a start, or a look at many checkpoints, checks."""


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """It cannot be predicted."""

    cause: UnknownCause
    because: str
    follows_from: tuple[str, ...]


NextStart = Resumes | RunsAgain | StartsFresh | Refuses | Unknown
