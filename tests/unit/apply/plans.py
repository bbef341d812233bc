"""Plans of file steps on a directory, and a kill within this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast import points
from holdfast.apply import leases
from holdfast.apply.apply import apply_plan, continue_plan
from holdfast.apply.journal import Journal
from holdfast.apply.stores import Stores
from holdfast.plan.plan_file import Impact, Plan
from holdfast.plan.steps import PutFile, RemoveFile, Step, digest_of
from holdfast.record.layout import journal_path
from holdfast.record.owner import Owner, this_process
from tests.unit.apply.quiet import quieten

STREAM = "readings"
FILES = {
    "offsets/0": "v1\n{}\n0",
    "offsets/1": "v1\n{}\n1",
    "commits/0": "v1\n{}",
    "commits/1": "torn",
}


def make_root(home: Path) -> Path:
    """Return a root with a small checkpoint."""
    for path, content in FILES.items():
        file = home / STREAM / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    quieten(home)
    return home


def put(root: Path, path: str, content: str, **more: Any) -> PutFile:
    """Return a step that writes a file of the checkpoint; a file that is there is replaced."""
    replaces = digest_of(FILES[path]) if path in FILES else None
    given = {"stream": STREAM, "place": str(root / STREAM), "replaces": replaces, "why": "w"}
    return PutFile(path=path, content=content, **{**given, **more})


def remove(root: Path, path: str) -> RemoveFile:
    """Return a step that removes a file of the checkpoint."""
    place, digest = str(root / STREAM), digest_of(FILES[path])
    return RemoveFile(stream=STREAM, place=place, path=path, sha256=digest, why="w")


def four_steps(root: Path) -> tuple[Step, ...]:
    """Return a removal, a replacement and two new files."""
    return (
        remove(root, "commits/1"),
        put(root, "offsets/1", "v1\n{}\nother"),
        put(root, "offsets/2", "v1\n{}\n2"),
        put(root, "sources/0/0", "v1\n"),
    )


def plan_of(root: Path, *steps: Step, **more: Any) -> Plan:
    """Return a plan."""
    given = {
        "id": "20260101-000000-00000a",
        "goal": "resume",
        "stream": STREAM,
        "root": str(root),
        "made_at": "2026-01-01T00:00:00+00:00",
        "made_by": "a test",
        "summary": "It goes on.",
        "impact": (Impact(stream=STREAM, position="as before"),),
        "undo": "all",
        "preconditions": (),
        "steps": steps,
    }
    return Plan(**{**given, **more})


def with_id(plan: Plan, number: int) -> Plan:
    """Return the same plan under another id."""
    return msgspec.structs.replace(plan, id=f"20260101-000000-{number:06x}")


def apply(plan: Plan) -> str:
    """Apply a plan with all that it needs; return where its journal is."""
    return apply_plan(plan, Stores(), allowed={each.word for each in plan.needs})


def finish(plan: Plan) -> str:
    """Do what an operator does after a kill."""
    root = Path(plan.root)
    begun = root / "_holdfast" / plan.stream / journal_path(plan.id) / "plan.json"
    return continue_plan(plan, Stores()) if begun.exists() else apply(plan)


def journal_of(plan: Plan) -> Journal:
    """Return the journal of a plan."""
    return Journal(Stores().at(f"{plan.root}/_holdfast/{plan.stream}"), plan)


def look(root: Path, *, without: tuple[str, ...] = ("_holdfast",)) -> dict[str, bytes]:
    """Return every file below a root, without those whose path has one of these parts."""
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    named = ((str(path.relative_to(root)), path) for path in files)
    return {
        name: path.read_bytes() for name, path in named if not set(without) & set(name.split("/"))
    }


class Killed(BaseException):
    """Stands for a SIGKILL."""


def dead_process() -> Owner:
    """Return an owner that had this process's number, and is gone."""
    return msgspec.structs.replace(this_process(), pid_started="1")


@contextmanager
def dying() -> Iterator[None]:
    """Have everything within done by a process that is gone then: its leases are not released."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leases, "this_process", dead_process)
        patch.setattr(leases, "release", lambda *_: None)
        yield


def kill_at(point: int, plan: Plan, *, continues: bool = False) -> bool:
    """Apply a plan up to a point, and leave everything as it is then; False: it was not reached."""
    seen: list[str] = []

    def tell(name: str) -> None:
        seen.append(name)
        if len(seen) == point:
            raise Killed

    with dying():
        points.listen(tell)
        try:
            _ = finish(plan) if continues else apply(plan)
        except Killed:
            return True
        finally:
            points.listen(None)
    return False
