"""Takes back what a plan has done: a plan made from its journal, applied through the same door.

It is made when it is asked for: from the journal, which says what was carried out, and from the
world as it is then. What was not carried out is not taken back. Files go back byte for byte, from
the copies in the journal. A generation is never taken back: a sink orders what may write by its
number. So undoing a reset opens the next generation, on the checkpoint of before, and the sinks get
back the rows that were kept.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from holdfast import clock, version
from holdfast.apply.applying import PlanRun, ProgressCallbacks
from holdfast.apply.journal import UNDONE, Journal, read_journalled_plan, split_journal
from holdfast.apply.steps.kind import Done, Drifted, NotDone, StepState, Undoing, Undone
from holdfast.apply.steps.table import kind_of
from holdfast.apply.stores import Stores
from holdfast.apply.undo_checks import (
    find_deleted,
    find_irreversible,
    refuse_half,
    refuse_overtaken,
)
from holdfast.apply.undo_generations import (
    copy_materialised,
    find_sinks_now,
    is_before_plan,
    is_of_plan,
    is_rewritten,
    next_generation,
    rebind,
)
from holdfast.apply.undo_readers import Readers, reset_readers
from holdfast.apply.undo_sources import add_moves
from holdfast.plan.draft import new_plan_id
from holdfast.plan.make import is_copy
from holdfast.plan.plan_file import Impact, Need, NoPlan, Plan
from holdfast.plan.steps import (
    CopyTree,
    FillTree,
    HoldTree,
    PutFile,
    SettleSink,
    Step,
    WriteRange,
    is_generation,
)
from holdfast.record.documents import encode

_LOOKS_AGAIN = (CopyTree, WriteRange, HoldTree, FillTree)
"""Steps that can have been cut short: their undo looks at what there is."""


def plan_undo(journal: str, stores: Stores) -> Plan | NoPlan:
    """Return the plan that takes back what a journal says was done.

    Args:
        journal: Where it is.
        stores: What it names.

    Raises:
        JournalError: It is no journal.
    """
    with stores.in_use():
        return _plan_undo(journal, stores)


def _plan_undo(journal: str, stores: Stores) -> Plan | NoPlan:
    record, plan_id = split_journal(journal)
    plan = read_journalled_plan(stores.at(str(record)), plan_id)
    undoing = _Undoing(plan=plan, stores=stores, plan_id=new_plan_id())
    if undoing.journal.ended() == UNDONE:
        return NoPlan(reason=f"Plan {plan_id} was taken back already.", is_fine=True)
    if find_deleted(plan, stores):
        return NoPlan(reason=f"Plan {plan_id} deletes files for good: {plan.undo}")
    refused = refuse_half(undoing.applying) or refuse_overtaken(undoing.applying)
    undo = refused or undoing.make()
    if isinstance(undo, NoPlan):
        return undo
    has_ended = undoing.journal.ended() is not None
    unlike = find_irreversible(plan, undo, stores, has_ended=has_ended)
    if unlike:
        return NoPlan(
            reason=f"Plan {plan_id} cannot be taken back: it would not be as before. {unlike[0]} "
            "The stream has run since, or something was deleted."
        )
    return undo


class _Look(msgspec.Struct, frozen=True, kw_only=True):
    """One step that was begun, and how the world stands to it now."""

    number: int
    step: Step
    found: StepState

    @property
    def is_carried_out(self) -> bool:
        """Whether the step was carried out: what was begun and is as before was not."""
        return isinstance(self.found, Done | Drifted)


class _Taken(msgspec.Struct):
    """What takes back the steps of a plan that were carried out."""

    steps: list[Step] = msgspec.field(default_factory=list)
    told: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """What becomes of the sinks, by stream."""
    needs: list[Need] = msgspec.field(default_factory=list)

    def add(self, found: Undone, stream: str) -> None:
        """Add the steps that take one back, and what is said of them."""
        self.steps += found.steps
        self.told.setdefault(stream, []).extend(found.told)
        self.needs += found.needs


class _Undoing(msgspec.Struct, frozen=True, kw_only=True):
    """One plan that is taken back."""

    plan: Plan
    stores: Stores
    plan_id: str

    @property
    def applying(self) -> PlanRun:
        return PlanRun(plan=self.plan, stores=self.stores, telling=ProgressCallbacks())

    @property
    def journal(self) -> Journal:
        return self.applying.journal

    @property
    def _context(self) -> Undoing:
        return Undoing(
            plan=self.plan,
            stores=self.stores,
            journal=self.journal,
            plan_id=self.plan_id,
            opened={each.stream: each for each in self.plan.steps if self._opens(each)},
        )

    def make(self) -> Plan | NoPlan:
        """Return the plan that takes back what was carried out, or why there is none."""
        looks = self._look()
        readers = self._find_readers(looks)
        if isinstance(readers, NoPlan):
            return readers
        taken = self._take_back(looks, without=readers.streams)
        if isinstance(taken, NoPlan):
            return taken
        if not taken.steps and self.journal.ended() is not None:
            return NoPlan(reason=f"Plan {self.plan.id} has changed nothing.", is_fine=True)
        return self._put_together(taken, readers, looks)

    def _look(self) -> tuple[_Look, ...]:
        """Look at every step that was begun, the last one first."""
        begun = self.journal.begun()
        return tuple(
            _Look(number=number, step=step, found=self._look_at(step))
            for number, step in reversed(list(enumerate(self.plan.steps, start=1)))
            if number in begun
        )

    def _look_at(self, step: Step) -> StepState:
        found = self.applying.look(step)
        if isinstance(found, Drifted) and isinstance(step, SettleSink):
            return NotDone() if is_before_plan(self._context, step) else found
        return found

    def _find_readers(self, looks: tuple[_Look, ...]) -> Readers | NoPlan:
        """Return the streams that read a table whose rows an undo replaces."""
        context = self._context
        rewritten = [
            each.step
            for each in looks
            if each.is_carried_out
            and isinstance(each.step, SettleSink)
            and is_rewritten(context, each.step)
        ]
        return reset_readers(self.plan, rewritten, self.stores, plan_id=self.plan_id)

    def _take_back(self, looks: tuple[_Look, ...], *, without: Collection[str]) -> _Taken | NoPlan:
        """Return what takes the steps back that were carried out, the last one first.

        Args:
            looks: What was begun.
            without: Streams that begin again instead.
        """
        taken = _Taken()
        carried_out = [each.step for each in looks if each.is_carried_out]
        for each in looks:
            if each.step.stream in without:
                continue
            if isinstance(each.found, Drifted) and not self._may_have_moved(each.step):
                return NoPlan(
                    reason=f"Plan {self.plan.id} cannot be taken back as a whole: {each.found.why} "
                    "Something has used what the plan left."
                )
            if each.is_carried_out or isinstance(each.step, _LOOKS_AGAIN):
                found = self._invert(each.step, each.number, carried_out)
                if isinstance(found, NoPlan):
                    return found
                taken.add(found, each.step.stream)
        # A generation first, as in every plan: cut short, sinks are brought to it from behind.
        taken.steps.sort(key=lambda each: not self._opens(each))
        moved = add_moves(taken.steps, self._context)
        taken.steps = list(moved.steps)
        taken.needs += moved.needs
        return taken

    def _may_have_moved(self, step: Step) -> bool:
        """Return whether a step can be taken back although its stream has run since."""
        if isinstance(step, HoldTree | FillTree):
            return True  # what is there now is kept aside, whatever it is
        if isinstance(step, CopyTree):
            # What was copied so far is compared, file by file, when it is removed.
            number = self.plan.steps.index(step) + 1
            return self._opens_generation(step.stream) or number not in self.journal.done()
        opens = self._opens_generation(step.stream)
        return opens and isinstance(step, SettleSink) and is_of_plan(self._context, step)

    def _opens_generation(self, stream: str) -> bool:
        return any(self._opens(each) and each.stream == stream for each in self.plan.steps)

    def _opens(self, step: Step) -> bool:
        """Return whether a step opens the next generation of a stream that is there already."""
        # The generations of a copy go with it, as a whole.
        return not is_copy(self.plan) and is_generation(step)

    def _invert(self, step: Step, number: int, carried_out: list[Step]) -> Undone | NoPlan:
        """Return what takes a step back."""
        if isinstance(step, PutFile) and self._opens(step):
            return self._reopen(step, number, carried_out)
        return kind_of(step).undo(step, number, self._context)

    def _reopen(self, step: PutFile, number: int, carried_out: list[Step]) -> Undone | NoPlan:
        """Return the steps that open a generation on the checkpoint of before."""
        context = self._context
        opened, why = next_generation(self.stores, step), context.why(number)
        rebound = rebind(context, step.stream, opened, settled=carried_out, why=why)
        if isinstance(rebound, NoPlan):
            return rebound
        content = encode(opened).decode()
        put = PutFile(
            stream=step.stream, place=step.place, path=opened.path, content=content, why=why
        )
        copies = copy_materialised(context, step, generation=opened.number, why=why)
        return Undone(steps=(put, *rebound, *copies))

    def _put_together(self, taken: _Taken, readers: Readers, looks: tuple[_Look, ...]) -> Plan:
        """Return the plan."""
        plan = self.plan
        back = [each for each in plan.streams if each not in readers.streams]
        reopened = [each for each in back if self._opens_generation(each)]
        needs = (*taken.needs, *(each for part in readers.parts for each in part.needs))
        ended = self.journal.done()  # one that another step has changed since does not show it
        done = sum(each.is_carried_out or each.number in ended for each in looks)
        return Plan(
            id=self.plan_id,
            goal="undo",
            stream=plan.stream,
            root=plan.root,
            beside=plan.beside,
            made_at=clock.now().isoformat(timespec="seconds"),
            made_by=f"Holdfast {version.__version__}",
            undoes=plan.id,
            summary=f"Undo of the {plan.goal} of {', '.join(plan.streams)} (plan {plan.id}): "
            f"{done} of its {len(plan.steps)} steps were carried out.",
            impact=(
                *(
                    Impact(
                        stream=each,
                        position="where it was before",
                        outputs=tuple(taken.told.get(each, ())),
                    )
                    for each in back
                ),
                *(part.impact for part in readers.parts),
            ),
            needs=tuple(dict.fromkeys(needs)),
            undo="`holdfast undo` of this undo, with the journal that it prints.",
            afterwards=("Start the streams as before.",),
            roots=plan.roots,
            preconditions=(*find_sinks_now(plan, reopened, self.stores), *readers.preconditions),
            steps=(*taken.steps, *(each for part in readers.parts for each in part.steps)),
        )
