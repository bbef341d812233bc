"""A guarded start, step by step (G1 to G6), and its end (G8)."""

from __future__ import annotations

import logging

from holdfast.events.event import Event


class StreamEvent(Event):
    """Something that has happened to one stream."""

    stream: str


class Resolved(StreamEvent):
    """A start knows its generation, its checkpoint and its sinks; nothing was written."""

    point = "G1"
    text = "{stream} G1: generation {generation} at {checkpoint}, into {sinks}"
    generation: int
    checkpoint: str
    sinks: str


class LeaseAwaited(StreamEvent):
    """A start or a backfill waits for the lease of another owner: at once, then every 10 s."""

    level = logging.WARNING
    text = (
        "{stream} waits for the lease of {owner} (epoch {epoch}, taken {taken}),"
        " for {seconds:.0f} s so far. {ends}"
    )
    owner: str
    epoch: int
    taken: str
    seconds: float
    ends: str
    """How the wait will end, as a sentence."""


class LeaseTaken(StreamEvent):
    """A start holds the lease of the next epoch."""

    point = "G2"
    text = "{stream} G2: epoch {epoch} is leased to {owner}"
    epoch: int
    owner: str

    def points(self) -> tuple[str, ...]:
        """Return the epoch as a fact, and the number."""
        return f"epoch={self.epoch}", self.point


class Judged(StreamEvent):
    """The rules have judged the checkpoint, the ledgers and the sources."""

    point = "G3"
    text = "{stream} G3: checkpoint, ledgers and sources are judged; findings: {findings}"
    generation: int
    epoch: int
    findings: str
    """The codes of what was found, or `none`."""


class FindingNoted(StreamEvent):
    """A finding that only informs."""

    level = logging.INFO
    text = "{stream}: {finding}"
    finding: str


class FindingWarned(FindingNoted):
    """A finding that does not refuse the start and needs attention."""

    level = logging.WARNING


class Refused(StreamEvent):
    """A start was refused or failed; the error that the program gets says why."""

    text = "{stream} is not started: {code}"
    code: str


class NotStarted(StreamEvent):
    """A stream of a pipeline was not started; the others run."""

    level = logging.ERROR
    text = "{stream} was not started: {why}"
    why: str


class OrphanCopied(Event):
    """A file of a log that another driver left half made is copied to the record."""

    point = "orphan-copied"
    text = "{path}, left half made by another driver, is copied to {kept}"
    path: str
    kept: str


class OrphanMoved(OrphanCopied):
    """That file is deleted from the checkpoint."""

    point = ""
    level = logging.INFO
    text = "{path}, left half made by another driver, was moved to {kept}"


class GenerationOpened(StreamEvent):
    """The record names a new generation; Spark's `metadata` is not written yet."""

    point = "generation-opened"
    text = "{stream} has opened generation {generation} at {checkpoint}"
    generation: int
    checkpoint: str


class QueryChanged(StreamEvent):
    """The query is not the one that ran last, and may still continue on the checkpoint."""

    level = logging.WARNING
    text = "{stream}: {change}"
    change: str


class GenerationReady(StreamEvent):
    """What was missing is created: generation, contract, tables."""

    point = "G4"
    text = "{stream} G4: the record and the tables of generation {generation} exist"
    generation: int


class SinkRowEvent(StreamEvent):
    """Something that has happened to the ledger row of one sink."""

    sink: str


class SinkFenced(SinkRowEvent):
    """The ledger row of a sink has this epoch; in a transaction, it is not committed yet."""

    point = "fenced"
    text = "{stream}: the ledger row of {sink} is fenced"


class SinkAsked(SinkRowEvent):
    """The ledger row is read under its lock, because the answer to a commit was lost."""

    point = "asked"
    text = "{stream}: the ledger row of {sink} was read after a lost answer"


class SinkSettled(SinkRowEvent):
    """A plan has brought a sink's output to a named state; its row follows in the same step."""

    point = "settled"
    text = "{stream}: the output of {sink} is settled"


class Fenced(StreamEvent):
    """Every sink is fenced, and what was read before the fence is judged again."""

    point = "G5"
    text = "{stream} G5: every sink takes batches of epoch {epoch} only"
    epoch: int


class Announced(StreamEvent):
    """What Spark will do first."""

    level = logging.INFO
    text = "{stream} generation {generation} epoch {epoch} {doing}; owner {owner}; spark {spark}"
    is_always_shown = True
    generation: int
    epoch: int
    doing: str
    owner: str
    spark: str


class RepairAdvised(StreamEvent):
    """Spark will refuse the checkpoint: what repairs it."""

    level = logging.WARNING
    text = "{stream}: {advice}"
    advice: str


class StartTakesTime(StreamEvent):
    """A start is not done after two seconds."""

    level = logging.INFO
    text = "{stream} is starting: it {doing}"
    is_always_shown = True
    doing: str


class StartIsSlow(StreamEvent):
    """A start takes long: a store or a server answers slowly. Repeated every 10 s."""

    level = logging.WARNING
    text = "{stream} has been starting for {seconds:.0f} s: it {doing}"
    seconds: float
    doing: str


class QueryStarted(StreamEvent):
    """Spark runs the query, and the run is recorded."""

    point = "G6"
    text = "{stream} G6: query {query} runs as generation {generation} epoch {epoch}"
    generation: int
    epoch: int
    query: str


class LeaseRenewed(StreamEvent):
    """A heartbeat: the lease is renewed."""

    text = "{stream} has renewed its lease of epoch {epoch}"
    epoch: int


class LeaseNotRenewed(StreamEvent):
    """A heartbeat did not get through; the term of the lease runs on."""

    level = logging.WARNING
    text = "{stream} could not renew its lease for {seconds:.0f} s: {why}"
    seconds: float
    why: str


class LeaseLost(StreamEvent):
    """Another driver has taken over."""

    level = logging.ERROR
    text = "another driver has taken over; this query is stopped"
    epoch: int


class LeaseExpired(LeaseLost):
    """The lease was not renewed within its term, and the sink has no fence."""

    text = "the lease was not renewed within its term; this query is stopped"


class RunEnded(StreamEvent):
    """The query has ended, and how is recorded; the lease is still held."""

    point = "run-ended"
    text = "{stream}: the run of epoch {epoch} is {ended}, last batch {batch}. {error}"
    epoch: int
    ended: str
    """`finished`, `stopped`, `failed` or `lost`."""
    batch: int | None
    error: str
    """The class of the error; empty without one."""


class LeaseReleased(StreamEvent):
    """The lease is released, or could not be; then it expires."""

    point = "G8"
    text = "{stream} G8: the lease of epoch {epoch} is released"
    epoch: int
