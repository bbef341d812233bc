"""The step that lets a Delta source go on after a table was emptied and refilled."""

from __future__ import annotations

import re

from holdfast.apply.steps.kind import Done, NotDone, StepKind, StepState, Undoing, Undone, Work
from holdfast.apply.stores import Stores
from holdfast.errors import WriteError
from holdfast.plan.entries import sidecar_of
from holdfast.plan.plan_file import NoPlan
from holdfast.plan.steps import MoveSource, digest_of
from holdfast.sources.registry import parse_offset

_POSITION = re.compile(r'"(reservoirVersion|index|isStartingVersion)" *: *(-?\d+|true|false)')


class SourceSteps(StepKind[MoveSource]):
    """Move an offset of a Delta source."""

    def describe(self, step: MoveSource) -> str:
        """Say what a step does."""
        table = f"the commit of {step.writer} that gave {step.sink.label} its rows back"
        return f"Let {step.stream} go on after {table} ({step.path} of {step.place})"

    def look(self, step: MoveSource, stores: Stores) -> StepState:
        """Say whether the entry names the version; before it is put back it is another one."""
        raw = stores.at(step.place).read(step.path)
        return Done() if raw is not None and _moved(raw, step, stores) == raw else NotDone()

    def carry_out(self, step: MoveSource, work: Work) -> None:
        """Write the entry with the version after the rows came back."""
        there = work.stores.at(step.place)
        raw = there.read(step.path)
        moved = None if raw is None else _moved(raw, step, work.stores)
        if raw is None or moved is None or digest_without_versions(raw) != step.sha256:
            raise WriteError(
                f"{step.place}/{step.path}",
                why="It is not the entry that was put back, or the table has no row of the plan.",
                how="Make sure that nothing else writes there, then continue.",
            )
        there.delete(sidecar_of(step.path))
        there.put(step.path, moved)

    def undo(self, step: MoveSource, number: int, undoing: Undoing) -> Undone | NoPlan:
        """Return nothing: the whole checkpoint is exchanged."""
        del step, number, undoing
        return Undone()


def digest_without_versions(raw: bytes) -> str:
    """Return what tells an entry apart from another, whatever positions in tables it names."""
    return digest_of(_POSITION.sub("", raw.decode("utf-8", "replace")))


def _moved(raw: bytes, step: MoveSource, stores: Stores) -> bytes | None:
    """Return an entry that names the version after a plan's row; None when there is no such row."""
    version = stores.ledger(step.sink, writes=False).row_version(step.writer)
    if version is None:
        return None
    lines = raw.decode("utf-8", "replace").split("\n")
    moved = [_at(each, version + 1) if _is_of(each, step.table_id) else each for each in lines]
    return "\n".join(moved).encode()


def _at(line: str, version: int) -> str:
    """Return an offset before everything in a version; the rest of it stays as Delta wrote it."""

    def replaced(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if name == "index":
            return f'"index":{value if value.startswith("-") else -1}'
        return f'"{name}":{version if name == "reservoirVersion" else "false"}'

    return _POSITION.sub(replaced, line)


def _is_of(line: str, table_id: str) -> bool:
    """Return whether a line of an entry is the offset of a table; named sources have a prefix."""
    offset = parse_offset(line[max(line.find("{"), 0) :])
    return f"table {table_id}" in offset.identities
