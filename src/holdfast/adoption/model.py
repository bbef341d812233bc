"""What an adoption would be: the answer, where the stream goes on, and what to change. Only values.

Nothing is changed by making one. `hf.start(…, checkpoint=…)` adopts.
"""

from __future__ import annotations

from enum import StrEnum, unique

import msgspec

from holdfast.rules.rule import Finding


@unique
class AdoptionVerdict(StrEnum):
    """Whether a stream can be adopted."""

    READY = "adoptable"
    AFTER = "adoptable-after"
    """Something must be done or answered first."""
    NOT = "not-adoptable"
    UNKNOWN = "not-known"


@unique
class BatchHolding(StrEnum):
    """Whether the sink holds the pending batch."""

    NONE_PENDING = "none-pending"
    HELD = "held"
    NOT_HELD = "not-held"
    PARTLY = "partly"
    NOT_KNOWN = "not-known"


class PendingBatch(msgspec.Struct, frozen=True, kw_only=True):
    """The batch that was planned and not committed."""

    batch: int | None
    """None if there is none."""
    holding: BatchHolding
    covers: tuple[str, ...] = ()
    """What it reads, source by source."""
    where: str = ""
    """Where it was read whether the sink holds it."""
    then: str = ""
    """What the guarded start does with it."""


class ToDo(msgspec.Struct, frozen=True, kw_only=True):
    """Something to do before the stream runs guarded."""

    short: str
    """`stop the old query`."""
    what: str
    """The same in full, with the reason."""
    code: str | None = None
    """The rule that asks for it."""


class Unclear(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was not known, and how to find it out."""

    what: str
    how: str


class Suggested(msgspec.Struct, frozen=True, kw_only=True):
    """A value of the call, and where it comes from."""

    value: str
    where: str


class ProgramChange(msgspec.Struct, frozen=True, kw_only=True):
    """What to write in the program instead of the chain."""

    place: str | None
    """Where the query is started; None if no program was named."""
    call: str
    """The call to write."""
    diff: str | None = None
    """The change as a unified diff; None if it must be made by hand."""
    by_hand: str | None = None
    """Why there is no diff."""
    notes: tuple[str, ...] = ()
    """What the call leaves out, each with where it was written."""


class Adoption(msgspec.Struct, frozen=True, kw_only=True):
    """The answer."""

    verdict: AdoptionVerdict
    why: str
    """What speaks against it; empty if nothing does."""
    stream: Suggested
    root: Suggested
    checkpoint: str
    query_id: str | None
    generation: int
    first_batch: int
    """The first batch that Holdfast's generation may commit."""
    next_batch: int | None
    """The batch that the first guarded start runs; None if it is not known."""
    offsets: tuple[str, ...]
    """How far each source is read."""
    pending: PendingBatch
    sink: Suggested | None
    """`into=`; None if the sink is not known."""
    signs: str
    """When the old query last showed a sign of life, and what was looked at."""
    fences_old_writer: bool | None
    """Whether the first start keeps the old query from writing; None if the sink is not known."""
    asks: tuple[Finding, ...]
    """What the first start refuses until it is accepted."""
    others: tuple[Finding, ...]
    """What else was found, the gravest first."""
    todo: tuple[ToDo, ...]
    change: ProgramChange
    not_known: tuple[Unclear, ...] = ()
