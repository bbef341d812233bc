"""A plan that is applied (A2 to A8), and a backfill (B1 to B4)."""

from __future__ import annotations

import logging

from holdfast.events.event import Event
from holdfast.events.starts import StreamEvent


class PlanEvent(Event):
    """Something that has happened to one plan."""

    plan: str
    goal: str


class PlanLeased(PlanEvent):
    """Every stream of the plan is leased."""

    point = "A2"
    text = "{goal} {plan} A2: every stream is leased"


class PlanChecked(PlanEvent):
    """The world is as the plan saw it, and what it needs is allowed."""

    point = "A3"
    text = "{goal} {plan} A3: the plan fits"


class JournalOpened(PlanEvent):
    """The plan stands in its journal."""

    point = "A4"
    text = "{goal} {plan} A4: the journal is open"


class StreamMarked(PlanEvent):
    """A stream is marked: no start goes on until the plan has ended."""

    point = "A4-marked"
    text = "{goal} {plan}: {stream} is marked"
    stream: str


class PlanFenced(PlanEvent):
    """Every sink of the plan is fenced."""

    point = "A4-fenced"
    text = "{goal} {plan}: every sink is fenced"


class StepEvent(PlanEvent):
    """Something that has happened to one step of a plan."""

    step: int


class StepNext(StepEvent):
    """A step is the next one."""

    point = "A5-before"
    text = "{goal} {plan}: step {step} is next"


class StepAnnounced(StepEvent):
    """The journal says that a step has begun."""

    point = "A5"
    text = "{goal} {plan} A5: step {step} has begun"


class FileKept(Event):
    """What a step replaces or removes is kept in the journal."""

    point = "kept"
    text = "{path} is kept in the journal"
    path: str


class StepApplied(StepEvent):
    """A step is done; the journal does not say so yet."""

    point = "A6"
    text = "{goal} {plan} A6: step {step} is done"


class StepRecorded(StepEvent):
    """The journal says that a step is done."""

    point = "A7"
    text = "{goal} {plan} A7: step {step} is recorded"


class PlanClosed(PlanEvent):
    """The journal says how the plan has ended."""

    point = "A8"
    text = "{goal} {plan} A8: {ended}"
    ended: str
    """`applied`, `abandoned` or `undone`."""


class MarkRemoved(PlanEvent):
    """A stream may be started again."""

    point = "A8-marked"
    text = "{goal} {plan}: {stream} may be started"
    stream: str


class BackfillLeased(StreamEvent):
    """A run of a backfill holds its lease."""

    point = "B1"
    text = "{stream} B1: epoch {epoch} is leased"
    epoch: int


class BackfillFenced(StreamEvent):
    """The sinks take chunks of this run only."""

    point = "B2"
    text = "{stream} B2: every sink is fenced"


class ChunkBegun(StreamEvent):
    """A chunk is read."""

    point = "B3"
    text = "{stream} B3: chunk {chunk} of {of} has begun"
    chunk: int
    of: int

    def points(self) -> tuple[str, ...]:
        """Return the chunk as the batch that it is to the sinks, and the number."""
        return f"batch={self.chunk - 1}", self.point


class ChunkWritten(StreamEvent):
    """Every sink has the chunk."""

    point = "B4"
    level = logging.INFO
    text = "{stream} chunk {chunk} of {of} is written"
    chunk: int
    of: int
