"""A plan as a value and as a file: JSON that reads well in a review.

A plan names its goal, what it does to the data, what must hold, and every step. It is input from
anybody: it is decoded strictly, and it may touch nothing outside the roots that it names. That it
touches no other stream is seen when it is applied.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from holdfast.errors import HoldfastError
from holdfast.plan.preconditions import Precondition
from holdfast.plan.requests import Asked
from holdfast.plan.steps import (
    CopyTree,
    DiscardTree,
    FileStep,
    Permission,
    Reason,
    RemoveTree,
    Step,
    StreamName,
    WriteRange,
    digest_of,
)
from holdfast.record.backfills import is_backfill_name
from holdfast.record.bounds import PathText, RuleCode, Timestamp, Version
from holdfast.record.layout import HOME, backfill_location, record_location
from holdfast.storage.location import Location, is_inside, parse_location

FORMAT = "holdfast.plan"
LARGEST_BYTES = 256 << 20
PlanId = Annotated[str, Meta(pattern=r"\A[0-9]{8}-[0-9]{6}-[0-9a-f]{6}\Z")]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a plan does to the data of a stream."""

    kind: str
    """`repeats`, `skips`, `loses`, `discards`, or `keeps`."""
    what: Reason
    amount: int | None = None
    """None when it is not known."""
    unit: str = "record"


class PlanFact(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a plan was decided by, as people read it."""

    name: str
    """`last batch`."""
    what: Reason


class Impact(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan does to one stream."""

    stream: StreamName
    position: Reason
    """Where it goes on."""
    outputs: tuple[Reason, ...] = ()
    """What becomes of each sink."""
    changes: tuple[Change, ...] = ()
    facts: tuple[PlanFact, ...] = ()
    """What it was decided by, where that is more than the position."""


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """A permission that `apply --execute` must be given."""

    permission: Permission
    stream: StreamName
    why: Reason

    def __post_init__(self) -> None:
        """Begin the reason with a capital: sinks are shown as `the PostgreSQL table …`."""
        if self.why.startswith("the "):
            msgspec.structs.force_setattr(self, "why", f"The {self.why[4:]}")

    @property
    def word(self) -> str:
        """As `--allow` takes it."""
        return f"{self.permission}:{self.stream}"


class Plan(msgspec.Struct, frozen=True, kw_only=True, tag=FORMAT, tag_field="format"):
    """A repair: what it is for, what it does to the data, what must hold, and every step."""

    version: Version = 1
    id: PlanId
    goal: Annotated[str, Meta(pattern=r"\A[a-z]{1,20}\Z")]
    stream: StreamName
    root: PathText
    beside: StreamName | None = None
    """The stream that goes on meanwhile: a backfill's record is below the record of its stream."""
    made_at: Timestamp
    made_by: Reason
    """The version of Holdfast."""
    undoes: PlanId | None = None
    """The plan whose journal it takes back; None for every other plan."""
    asked: Asked | None = None
    """What was asked for; None for an undo, and in files of older versions."""
    answers: tuple[RuleCode, ...] = ()
    """The findings that it repairs."""
    summary: Reason
    """What it does, in one sentence."""
    impact: tuple[Impact, ...]
    needs: tuple[Need, ...] = ()
    undo: Reason
    """What `holdfast undo` gives back, and until when."""
    afterwards: tuple[Reason, ...] = ()
    """What to run when it is done."""
    roots: tuple[PathText, ...] = ()
    """Other places that it may write below: a new root, or an adopted checkpoint."""
    watched: Annotated[tuple[PathText, ...], Meta(max_length=1_000)] = ()
    """Event logs of plain streams that do not say that their application ended: they are quiet, or
    the stream is running."""
    preconditions: tuple[Precondition, ...]
    steps: tuple[Step, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """What `--allow` must be given, each once."""
        return tuple(dict.fromkeys(need.word for need in self.needs))

    def record_of(self, stream: str) -> Location:
        """Return where the record of a stream is that the plan names."""
        root = parse_location(self.root)
        if self.beside is None or stream != self.stream:
            return record_location(root, stream)
        return backfill_location(record_location(root, self.beside), stream)

    @property
    def places(self) -> tuple[str, ...]:
        """The directories that its steps read and write, each once."""
        names = ("place", "source", "target", "aside")
        found = (getattr(step, name, None) for step in self.steps for name in names)
        return tuple(dict.fromkeys(each for each in found if isinstance(each, str)))

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that it changes, the first one first."""
        parts = (*self.steps, *self.impact)
        return tuple(dict.fromkeys((self.stream, *(each.stream for each in parts))))


class NoPlan(msgspec.Struct, frozen=True, kw_only=True):
    """There is no plan for this goal, or none is needed."""

    reason: str
    nearest: str = ""
    """The command that comes nearest to what was asked for; empty when there is none."""
    is_fine: bool = False
    """Whether nothing needs to be done."""
    needs_kept_output: bool = False
    """Whether the same goal has a plan if the sinks keep their rows."""


class PlanFileError(HoldfastError):
    """A plan file cannot be used."""

    code = "PLAN_FILE"

    def __init__(self, shown: str, why: str) -> None:
        super().__init__(
            what=f"{shown} was not applied; nothing was changed.",
            why=why,
            how="Make the plan again with `holdfast plan`.",
        )


def encode_plan(plan: Plan) -> bytes:
    """Return the file of a plan."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n"


def decode_plan(raw: bytes, shown: str) -> Plan:
    """Return the plan in a file.

    Raises:
        PlanFileError: It is none, is of another version, or touches what it must not.
    """
    try:
        found: Any = msgspec.json.decode(raw)
        known = isinstance(found, dict) and found.get("format") == FORMAT
        if not known:
            raise PlanFileError(shown, "It is not a plan.")
        if found.get("version") != 1:
            raise PlanFileError(shown, "It is of a version that this Holdfast does not know.")
        plan = msgspec.convert(found, type=Plan)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise PlanFileError(shown, f"It is not a plan: {str(error)[:200]}.") from error
    _check_confined(plan, shown)
    return plan


def plan_digest(plan: Plan) -> str:
    """Return what tells one plan apart from another."""
    return digest_of(encode_plan(plan))[:12]


def _check_confined(plan: Plan, shown: str) -> None:
    """Refuse a plan that reaches outside the root it names."""
    allowed = [_location(each, shown) for each in (plan.root, *plan.roots)]
    for step in plan.steps:
        for name in ("place", "target", "source", "aside"):
            place = getattr(step, name, None)
            if isinstance(place, str) and not any(
                is_inside(_location(place, shown), each) for each in allowed
            ):
                raise PlanFileError(shown, f"A step reaches outside its root: {place}.")
        _check_trees(step, plan, shown)
        _check_beside(step, plan, shown)
        for path in (getattr(step, "path", "a"), getattr(step, "kept", "a")):
            parts = path.split("/")
            if path.startswith("/") or ".." in parts or "" in parts:
                raise PlanFileError(shown, f"A step has the path {path}.")


def _check_beside(step: Step, plan: Plan, shown: str) -> None:
    """Refuse a plan beside a stream that changes anything but the record of a backfill.

    It holds no lease of the stream.
    """
    if plan.beside is None:
        return
    is_own = isinstance(step, WriteRange) or (
        isinstance(step, FileStep) and _location(step.place, shown) == plan.record_of(plan.stream)
    )
    if step.stream != plan.stream or not is_own or not is_backfill_name(plan.stream):
        raise PlanFileError(shown, f"It runs beside {plan.beside}, and changes more than its rows.")


def _check_trees(step: Step, plan: Plan, shown: str) -> None:
    """Refuse to delete around the record, which has the journal, and copies within themselves."""
    gone = step.target if isinstance(step, RemoveTree) else None
    gone = step.place if isinstance(step, DiscardTree) else gone
    home = _location(plan.root, shown).join(HOME, plan.stream)
    if gone is not None and is_inside(home, _location(gone, shown)):
        raise PlanFileError(shown, f"A step deletes {gone}, and the record with it.")
    if isinstance(step, CopyTree | RemoveTree):
        one, other = _location(step.source, shown), _location(step.target, shown)
        if is_inside(one, other) or is_inside(other, one):
            raise PlanFileError(shown, f"A step copies {one} into itself.")


def _location(text: str, shown: str) -> Location:
    try:
        found = parse_location(text)
    except HoldfastError as error:
        raise PlanFileError(shown, error.why) from error
    if ".." in found.path.split("/"):
        raise PlanFileError(shown, f"It names the place {text}.")
    return found
