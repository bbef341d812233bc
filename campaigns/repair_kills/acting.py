"""Applies, continues and undoes plans, with a kill at a point or without one."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from unittest.mock import patch

import msgspec

from campaigns.repair_kills.telling import TellingStores
from holdfast import points
from holdfast.apply import leases, movement
from holdfast.apply.apply import apply_plan, continue_plan
from holdfast.apply.stores import Stores
from holdfast.plan.plan_file import Plan, encode_plan
from holdfast.plan.preconditions import LedgerIs
from holdfast.record.layout import journal_path, record_location
from holdfast.record.owner import Owner, this_process
from holdfast.storage.location import parse_location


class Way(StrEnum):
    """How a plan is applied."""

    APPLY = "apply"
    CONTINUE = "continue"


class Killed(BaseException):
    """Stands for a SIGKILL within this process."""


def act(plan: Plan, way: Way, stores: Stores, *, tell: Callable[[str], None]) -> str:
    """Apply or continue a plan, with everything allowed; return where its journal is."""
    points.listen(tell)
    try:
        # A checkpoint that was put back just now looks as if a query had written to it.
        with patch.object(movement, "find_movement", return_value=None):
            if way is Way.CONTINUE:
                return continue_plan(plan, stores)
            return apply_plan(plan, stores, allowed={each.word for each in plan.needs})
    finally:
        points.listen(None)


def finish(plan: Plan, stores: Stores, tell: Callable[[str], None] = lambda _: None) -> str:
    """Do what an operator does after a kill: continue, or apply what was never begun."""
    return act(plan, way_to_finish(plan, stores), stores, tell=tell)


def way_to_finish(plan: Plan, stores: Stores) -> Way:
    """Return how a plan is finished."""
    record = stores.at(str(record_location(parse_location(plan.root), plan.stream)))
    begun = record.read(f"{journal_path(plan.id)}/plan.json")
    return Way.APPLY if begun is None else Way.CONTINUE


def journal_of(plan: Plan) -> str:
    """Return where the journal of a plan is."""
    return str(record_location(parse_location(plan.root), plan.stream).join(journal_path(plan.id)))


def count_points(plan: Plan, way: Way, stores: Stores) -> tuple[list[str], str]:
    """Carry a plan out; return the points that it reached, and where its journal is."""
    seen: list[str] = []
    return seen, act(plan, way, stores, tell=seen.append)


def stop_at(plan: Plan, way: Way, stores: Stores, *, point: int) -> bool:
    """End a plan at a point within this process; return whether it was reached.

    It is left as a process leaves it that is gone: the leases are not released.
    """
    seen: list[str] = []

    def tell(name: str) -> None:
        seen.append(name)
        if len(seen) == point:
            raise Killed

    with patch.object(leases, "this_process", _dead), patch.object(leases, "release", _nothing):
        try:
            act(plan, way, stores, tell=tell)
        except Killed:
            return True
    return False


def _dead() -> Owner:
    """Return an owner that had this process's number, and is gone."""
    return msgspec.structs.replace(this_process(), pid_started="1")


def _nothing(*_: object) -> None:
    return


def kill_at(plan: Plan, way: Way, *, point: int, scratch: Path, stores: Stores) -> bool:
    """SIGKILL a child at a point, with stores of the same kind; return whether it was reached."""
    file = scratch / "plan.json"
    file.write_bytes(encode_plan(plan))
    words = [str(file), way, str(point), *(["writes"] if isinstance(stores, TellingStores) else [])]
    child = subprocess.run(
        [sys.executable, "-m", "campaigns.repair_kills.child", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode not in (0, -signal.SIGKILL):
        raise AssertionError(child.stderr)
    return child.returncode != 0


def refresh(plan: Plan, stores: Stores) -> Plan:
    """Return a plan for the same world with tables in storage of their own.

    Only what tells the content of a table apart is taken anew: putting a table back gives it other
    files on the server's disk.
    """
    stores.forget_ledgers()
    held = tuple(
        msgspec.structs.replace(
            each, table=stores.ledger(each.sink, writes=False).table_version(each.stream)
        )
        if isinstance(each, LedgerIs)
        else each
        for each in plan.preconditions
    )
    stores.forget_ledgers()
    return msgspec.structs.replace(plan, preconditions=held)
