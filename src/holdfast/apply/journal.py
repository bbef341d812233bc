"""The journal of one plan: the plan itself, and a record before and after each step.

    journal/<plan id>/plan.json         what is being done
    journal/<plan id>/0003-begun.json   step 3 may have been carried out
    journal/<plan id>/0003-done.json    step 3 has been carried out
    journal/<plan id>/kept/0003         what step 3 replaced or removed, before it did
    journal/<plan id>/ended.json        every step has been carried out

Every record is created once, by put-if-absent. It is in the record of the plan's first stream.
"""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta

from holdfast import clock
from holdfast.apply.errors import JournalError
from holdfast.errors import HoldfastError
from holdfast.plan.plan_file import LARGEST_BYTES, Plan, PlanFileError, decode_plan, encode_plan
from holdfast.printable import printable
from holdfast.record.bounds import Line, PathText, Timestamp
from holdfast.record.documents import Document, create, find_names, read_document
from holdfast.record.layout import JOURNAL, journal_path
from holdfast.record.repairs import RepairId
from holdfast.storage.local import is_same_place
from holdfast.storage.location import Location, parse_location
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

_UNDONE_BY = re.compile(r"undone-by-([0-9a-z-]+)\.json")
_STEP = re.compile(r"([0-9]{4,})-(begun|done)\.json")
StepNumber = Annotated[int, Meta(ge=1, le=10_000_000)]


class StepBegun(Document, frozen=True, kw_only=True, tag="holdfast.step-begun"):
    """A step that may have been carried out."""

    id: RepairId
    number: StepNumber
    what: PathText
    at: Timestamp

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return f"{journal_path(self.id)}/{self.number:04d}-begun.json"


class StepDone(Document, frozen=True, kw_only=True, tag="holdfast.step-done"):
    """A step that has been carried out."""

    id: RepairId
    number: StepNumber
    at: Timestamp

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return f"{journal_path(self.id)}/{self.number:04d}-done.json"


APPLIED, UNDONE = "applied", "undone"


class PlanEnded(Document, frozen=True, kw_only=True, tag="holdfast.plan-ended"):
    """A plan whose steps have all been carried out, or none of them."""

    id: RepairId
    how: Line
    """`applied`, `abandoned` before its first step, or `undone`."""
    at: Timestamp

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return f"{journal_path(self.id)}/ended.json"


class PlanUndone(Document, frozen=True, kw_only=True, tag="holdfast.plan-undone"):
    """A plan that another one has taken back."""

    id: RepairId
    by: RepairId
    at: Timestamp

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return f"{journal_path(self.id)}/undone-by-{self.by}.json"


class Journal:
    """Reads and writes the journal of one plan."""

    def __init__(self, record: Writer, plan: Plan) -> None:
        """Write nothing yet.

        Args:
            record: Of the plan's first stream.
            plan: What is applied.
        """
        self._record = record
        self._plan = plan
        self._home = journal_path(plan.id)

    @property
    def location(self) -> Location:
        """Where it is."""
        return self._record.location.join(self._home)

    @property
    def record(self) -> Writer:
        """What its paths are below."""
        return self._record

    def kept(self, number: int) -> str:
        """Return where a step keeps what it replaces or removes."""
        return f"{self._home}/kept/{number:04d}"

    def open(self) -> None:
        """Write the plan down, unless it is there.

        Raises:
            JournalError: Another plan is there.
        """
        raw = encode_plan(self._plan)
        path = f"{self._home}/plan.json"
        if not self._record.put_if_absent(path, raw) and self._record.read(path) != raw:
            raise JournalError(str(self.location), why="It is the journal of another plan.")

    def begun(self) -> frozenset[int]:
        """Return the numbers of the steps that were begun."""
        return self._numbers("begun")

    def done(self) -> frozenset[int]:
        """Return the numbers of the steps that are done."""
        return self._numbers("done")

    def _numbers(self, what: str) -> frozenset[int]:
        names = find_names(self._record, self._home, _STEP)
        return frozenset(int(each[1]) for each in names if each[2] == what)

    def begin(self, number: int, what: str) -> None:
        """Write down that a step is about to be carried out."""
        shown = printable(what)[:200]  # a sink's label can hold any character
        step = StepBegun(id=self._plan.id, number=number, what=shown, at=_now())
        create(self._record, step)

    def finish(self, number: int) -> None:
        """Write down that a step has been carried out."""
        create(self._record, StepDone(id=self._plan.id, number=number, at=_now()))

    def end(self, how: str) -> None:
        """Write down that the plan has ended."""
        create(self._record, PlanEnded(id=self._plan.id, how=how, at=_now()))

    def end_undone(self, plan_id: str) -> None:
        """Write down that this plan has taken another one back."""
        create(self._record, PlanEnded(id=plan_id, how=UNDONE, at=_now()))
        create(self._record, PlanUndone(id=plan_id, by=self._plan.id, at=_now()))

    def is_open(self) -> bool:
        """Return whether the plan was begun."""
        return self._record.read(f"{self._home}/plan.json", length=1) is not None

    def was_applied(self) -> bool:
        """Return whether every step was carried out once, whatever was taken back since."""
        found = read_document(self._record, f"{self._home}/ended.json", PlanEnded)
        return found is not None and found.how == APPLIED

    def ended(self) -> str | None:
        """Return how the plan has ended; None when it has not."""
        found = read_document(self._record, f"{self._home}/ended.json", PlanEnded)
        if found is None:
            return None
        return UNDONE if _is_undone(self._record, self._plan.id) else found.how


def _is_undone(record: Reader, plan_id: str, *, seen: frozenset[str] = frozenset()) -> bool:
    """Return whether a plan was taken back by one that was not taken back itself."""
    known = seen | {plan_id}
    by = (each[1] for each in find_names(record, journal_path(plan_id), _UNDONE_BY))
    return any(each not in known and not _is_undone(record, each, seen=known) for each in by)


def split_journal(text: str) -> tuple[Location, str]:
    """Return the record and the id of the plan that the location of a journal names.

    Raises:
        JournalError: It is not the location of a journal.
    """
    location = parse_location(text.rstrip("/").removesuffix("/plan.json"))
    journal = location.parent
    record = None if journal is None else journal.parent
    if journal is None or record is None or journal.name != JOURNAL:
        raise JournalError(text, why="It is not the directory of a journal.")
    return record, location.name


def read_journalled_plan(record: Reader, plan_id: str) -> Plan:
    """Return the plan of a journal.

    Raises:
        JournalError: There is none, it cannot be read, or it is that of another place: what the
            plan names is there, and not here.
    """
    path = f"{journal_path(plan_id)}/plan.json"
    shown = str(record.location.join(journal_path(plan_id)))
    try:
        raw = record.read(path, length=LARGEST_BYTES)
        if raw is None:
            raise JournalError(shown, why="It has no plan.json.")
        plan = decode_plan(raw, shown)
    except PlanFileError as error:
        raise JournalError(shown, why=error.why) from error
    except HoldfastError as error:
        if isinstance(error, JournalError):
            raise
        raise JournalError(shown, why=error.why) from error
    home = plan.record_of(plan.stream)
    if plan.id != plan_id or not is_same_place(home, record.location):
        own = home.join(journal_path(plan.id))
        raise JournalError(shown, why=f"It is a copy: the plan in it is that of {own}.")
    return plan


def _now() -> str:
    return clock.now().isoformat(timespec="seconds")
