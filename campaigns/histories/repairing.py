"""Plans, applies, continues and takes back, with kills; and accounts for what each says it did."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from campaigns.histories.change import (
    APPLIED,
    PENDING,
    REFUSED,
    UNDONE,
    Change,
    foresee,
)
from campaigns.histories.describe import first_line
from campaigns.histories.machine import MAIN, Machine
from campaigns.histories.memory_ledger import LOOKING
from campaigns.histories.model import Wrong, stands_for
from campaigns.histories.undo_ends import accept_undo
from holdfast import points
from holdfast.apply.apply import apply_plan, continue_plan
from holdfast.apply.errors import InterruptedPlanError
from holdfast.apply.journal import read_journalled_plan, split_journal
from holdfast.apply.rehearse import rehearse
from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.errors import HoldfastError
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import NoPlan, Plan, decode_plan, encode_plan
from holdfast.plan.requests import Request
from holdfast.record.layout import journal_path


class Killed(BaseException):
    """Stands for a SIGKILL."""


@dataclass(frozen=True)
class Interference:
    """What happens while a plan is applied."""

    kill: int | None = None
    """At which point the process is killed, counted from 0."""
    intrude: int | None = None
    """At which point a paused driver goes on."""


QUIET = Interference()
_ABANDONED = '"abandoned"'
ENDED, STOPPED, SAID_NO = "ended", "stopped", "said no"


def make(machine: Machine, request: Request) -> Plan | NoPlan | HoldfastError:
    """Make a plan; nothing may change."""
    before = machine.world()
    looks = DiagnoseRequest(location=MAIN, root=machine.main.root)
    try:
        found: Plan | NoPlan | HoldfastError = make_plan(request, looks)
    except HoldfastError as error:
        found = error
    machine.must_be(before, f"A plan of {request.goal} was made")
    if isinstance(found, Plan):
        found = decode_plan(encode_plan(found), "plan.json")
        machine.plan = (found, request, machine.main.moves)
        machine.tell(f"planned: {found.summary}")
    else:
        why = found.reason if isinstance(found, NoPlan) else first_line(found)
        machine.tell(f"no plan of {request.goal}: {why}")
    return found


def apply_last(machine: Machine, around: Interference = QUIET) -> str:
    """Apply the last plan that was made."""
    if machine.plan is None:
        return SAID_NO
    plan, request, moves = machine.plan
    machine.plan = None
    change = foresee(request, _journal_of(plan), machine.main)
    change.was_tampered = machine.is_tampered
    has_run = moves != machine.main.moves

    def carry_out() -> object:
        return apply_plan(plan, machine.stores(), allowed=set(plan.words))

    outcome = _carry_out(machine, plan, change, act=carry_out, around=around)
    if outcome == ENDED and has_run and request.goal not in ("prune", "snapshot"):
        machine.fail(Wrong("stale", f"A {request.goal} was applied although the stream has run"))
    return outcome


def go_on(machine: Machine, change: Change | None = None, around: Interference = QUIET) -> str:
    """Continue a plan that was begun and has not ended."""
    change = change or machine.pending
    if change is None:
        return SAID_NO
    record, plan_id = split_journal(change.journal)
    stores = machine.stores()
    plan = read_journalled_plan(stores.at(str(record)), plan_id)
    act = functools.partial(continue_plan, plan, stores)
    return _carry_out(machine, plan, change, act=act, around=around)


def take_back(machine: Machine, change: Change, around: Interference = QUIET) -> str:
    """Undo a plan that was begun."""
    before = machine.world()
    try:
        undo: Plan | NoPlan = plan_undo(change.journal, machine.stores())
    except HoldfastError as error:
        machine.refusal = error
        machine.must_be(before, "An undo was refused")
        machine.tell(f"no undo: {first_line(error)}")
        return SAID_NO
    if isinstance(undo, NoPlan):
        machine.must_be(before, "An undo was refused")
        machine.tell(f"no undo of {change.goal}: {undo.reason}")
        return SAID_NO
    machine.tell(f"undo of {change.goal}: {len(undo.steps)} steps, needs {undo.words}")
    back = change.taking_back(_journal_of(undo), machine.main)
    if not undo.steps:
        back.after = machine.main.copied()  # nothing was begun, and the stream may have run since
    back.was_tampered = machine.is_tampered
    back.may_take_others = any(word.startswith("destructive") for word in undo.words)

    def carry_out() -> object:
        return apply_plan(undo, machine.stores(), allowed=set(undo.words))

    return _carry_out(machine, undo, back, act=carry_out, around=around)


def _journal_of(plan: Plan) -> str:
    return f"{plan.root}/_holdfast/{plan.stream}/{journal_path(plan.id)}"


def _carry_out(
    machine: Machine, plan: Plan, change: Change, *, act: Callable[[], object], around: Interference
) -> str:
    """Rehearse, apply, and account for how it ended."""
    before, is_rehearsed = machine.world(), _is_rehearsed(plan)
    was_open = change in machine.changes
    machine.fenced = False
    points.listen(_listener(machine, change, around))
    try:
        act()
    except Killed:
        return _stopped(machine, change, "killed")
    except InterruptedPlanError as error:
        _stopped(machine, change, first_line(error))
        if is_rehearsed and around == QUIET and not was_open:
            machine.fail(
                Wrong("half-way", f"The {change.goal} was rehearsed, and stopped: {error}")
            )
        return STOPPED
    except HoldfastError as error:
        machine.refusal = error
        machine.tell(f"{change.goal} refused: {first_line(error)}")
        if around.intrude is None or not machine.fenced:
            machine.must_be(before, f"The {change.goal} was refused")
        if was_open and not _is_open(change):
            change.state = REFUSED
        return SAID_NO
    finally:
        points.listen(None)
    _ended(machine, change)
    if machine.fenced and around.intrude is not None and any(plan_settles(plan)):
        machine.fail(Wrong("overwritten", f"A {change.goal} went over a batch that had just come"))
    return ENDED


def plan_settles(plan: Plan) -> list[bool]:
    """Return a mark for each step that settles a sink."""
    return [True for step in plan.steps if hasattr(step, "output")]


def _is_rehearsed(plan: Plan) -> bool:
    try:
        rehearse(plan, Stores().rehearsal())
    except HoldfastError:
        return False
    return True


def _is_open(change: Change) -> bool:
    """Return whether a journal is there, and has not ended."""
    home = Path(change.journal.removeprefix("file:"))
    return (home / "plan.json").exists() and not (home / "ended.json").exists()


def _listener(machine: Machine, change: Change, around: Interference) -> points.Listener:
    seen = looks = 0

    def tell(name: str) -> None:
        nonlocal seen, looks
        if "=" in name:
            return
        looks += 1
        if looks - 1 == around.intrude:
            resume_paused(machine, change)
        if name == LOOKING:
            return  # nothing has changed since the last point: a kill here is a kill there
        number, seen = seen, seen + 1
        if number == around.kill:
            machine.tell(f"{change.goal} killed at {name}")
            raise Killed

    return tell


def resume_paused(machine: Machine, change: Change | None = None) -> None:
    """Let a paused driver go on until it ends or is refused."""
    if machine.paused is None:
        return
    (driver, points_left), machine.paused = machine.paused, None
    labels = [each.label for each in driver.code.sinks]
    if labels != [sink.table for sink in machine.main.sinks]:
        driver.close()  # the code names another table by now, and the old one is left alone
        return
    counted = [set(sink.counted) for sink in machine.main.sinks]
    try:
        for _ in points_left:
            pass
        machine.tell("the paused driver went on to its end")
    except Exception as error:  # noqa: BLE001 - whatever stops a driver that was replaced
        machine.tell(f"the paused driver was stopped: {first_line(error)}")
    driver.close()
    if change is None:
        return
    for known, now, had in zip(change.before.sinks, machine.main.sinks, counted, strict=True):
        known.counted |= now.counted - had
    change.before.batches = dict(machine.main.batches)


def _stopped(machine: Machine, change: Change, why: str) -> str:
    """Account for a plan that was cut short: of each table, whether it was changed."""
    ended = Path(change.journal.removeprefix("file:"), "ended.json")
    if ended.exists() and _ABANDONED in ended.read_text():
        machine.tell(f"{change.goal} {why}, while it was given up")
        change.state = PENDING  # until its marks have ended too
        machine.changes.append(change)
        return STOPPED
    if ended.exists():
        machine.tell(f"{change.goal} {why}, after its last step")
        _ended(machine, change)
        return ENDED
    if not _is_open(change):
        machine.tell(f"{change.goal} {why}; nothing was begun")
        return STOPPED
    machine.tell(f"{change.goal} stopped: {why}")
    if change not in machine.changes:
        machine.changes.append(change)
    change.state = PENDING
    for name in change.effects:
        table = machine.tables[name]
        actual = machine.backend.rows(name)
        if change.done.get(name) or stands_for(table.rows, actual):
            continue
        change.carry_out(table)  # compared by the machine's own check
    return STOPPED


def _ended(machine: Machine, change: Change) -> None:
    """Account for a plan that was carried out to its end."""
    machine.tell(f"{change.goal} done")
    if change.state == APPLIED:
        return  # it was killed after its last step, and only its marks were missing
    if change not in machine.changes:
        machine.changes.append(change)
    change.state = APPLIED
    now = machine.main
    is_same = change.leaves_alone  # and a driver may have come in meanwhile
    machine.main = (now if is_same else change.after).copied()
    machine.main.moves = now.moves + 1
    machine.main.snapshots = {**now.snapshots, **change.after.snapshots}
    for name in change.effects:
        table = machine.tables[name]
        effect = change.effects[name]
        if effect.may_stay and stands_for(table.rows, machine.backend.rows(name)):
            effect.kind = "stay"
        if change.undoes is not None:
            accept_undo(machine, change, name, now=now)
        change.carry_out(table)
    if change.undoes is not None:
        _mark_undone(change, change.undoes)
        # What the plan has put right is as it was again.
        machine.is_tampered = machine.is_tampered or change.undoes.was_tampered


def _mark_undone(change: Change, undone: Change) -> None:
    """Account for a plan that was taken back; what it took back itself counts again."""
    change.state_before, change.done_before = undone.state, dict(undone.done)
    was_applied = undone.state == APPLIED
    undone.state, undone.done = UNDONE, {}
    again = undone.undoes
    if again is not None and was_applied:
        again.state, again.done = undone.state_before, dict(undone.done_before)
