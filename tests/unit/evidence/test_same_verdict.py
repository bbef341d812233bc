"""The command line, the Python API and the guard give the same answer for the same checkpoint.

Every archived checkpoint, every damage to one that the tests know, and the whole runs and hostile
checkpoints of the damage suite. The guard reads near a batch: from its ledger it may know the
newest batch, one before it, a wrong one or none.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.cli.inspect_json import render_json
from holdfast.cli.inspection import Inspection
from holdfast.cli.main import run
from holdfast.errors import HoldfastError
from holdfast.evidence import overview_of
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect_near
from holdfast.ids import BatchId
from holdfast.judgement.judge import judge
from holdfast.storage import open_reader
from tests.drawing import SEED
from tests.fuzz.hostile.cases import CASES as HOSTILE
from tests.fuzz.runs import choose_runs
from tests.unit.checkpoint.archives import ARCHIVES
from tests.unit.evidence.damaged import KINDS, Damage, Files, damaged, sidecar_of
from tests.unit.evidence.test_needed_sources import LOGS
from tests.unit.evidence.test_needed_state import LISTED
from tests.unit.evidence.test_opened_state import ALWAYS, OPENED
from tests.unit.evidence.test_query import CASES as QUERIES

pytestmark = pytest.mark.sampled(60)

Make = Callable[[Path], None]
RUNS = 300


def write_files(files: Files, directory: Path) -> None:
    for path, raw in files.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)


def archived(name: str, *damages: Damage) -> Make:
    return lambda directory: write_files(damaged(name, *damages).files, directory)


@cache
def runs() -> list[Files]:
    """Whole checkpoints in which one file is damaged, drawn by the seed of the session."""
    return [case.files for case in choose_runs(RUNS, SEED)]


def drawn(number: int) -> Make:
    return lambda directory: write_files(runs()[number], directory)


def newest(files: Files, log: str, back: int = 0) -> str | None:
    """Return the path of the newest entry of a log, or of one so many before it."""
    found = [int(name) for path in files if (name := path.removeprefix(f"{log}/")).isdecimal()]
    return f"{log}/{sorted(found)[-1 - back]}" if len(found) > back else None


def without(log: str, back: int = 0, *, sidecars: bool = True) -> Damage:
    def damage(files: Files) -> None:
        if (path := newest(files, log, back)) is not None:
            del files[path]
            if sidecars:
                files.pop(sidecar_of(path), None)

    return damage


def rewritten(log: str, content: Callable[[bytes], bytes], back: int = 0) -> Damage:
    def damage(files: Files) -> None:
        if (path := newest(files, log, back)) is not None:
            files[path] = content(files[path])

    return damage


def below(directory: str, ending: str = "") -> Damage:
    """Delete everything below a directory that ends so."""

    def damage(files: Files) -> None:
        for path in [*files]:
            if path.startswith(directory) and path.endswith(ending):
                del files[path]

    return damage


def without_offset(raw: bytes) -> bytes:
    """Take the offset of the last source away."""
    return raw.rpartition(b"\n")[0] + b"\n-"


COMMON: dict[str, Damage] = {
    "none": lambda _: None,
    "metadata-deleted": below("metadata"),
    "newest-offsets-deleted": without("offsets"),
    "newest-offsets-deleted-by-hand": without("offsets", sidecars=False),
    "offsets-before-deleted": without("offsets", 1),
    "newest-offsets-empty": rewritten("offsets", lambda _: b""),
    "newest-offset-gone": rewritten("offsets", without_offset),
    "offset-before-gone": rewritten("offsets", without_offset, 1),
    "newest-commit-deleted": without("commits"),
    "newest-commit-deleted-by-hand": without("commits", sidecars=False),
    "newest-commit-empty": rewritten("commits", lambda _: b""),
    "offsets-deleted": below("offsets/"),
    "commits-deleted": below("commits/"),
    "state-deleted": below("state/"),
    "sources-deleted": below("sources/"),
    "tables-deleted": below("state/", ".sst"),
    "later-entries": lambda files: files.update({"offsets/90": b"v1\n{}\n5", "commits/80": b"v1"}),
}
"""Damages that any checkpoint can have."""
DISK_CASES: dict[str, Make] = {
    **{
        f"{name}-{damage}": archived(name, COMMON[damage]) for name in ARCHIVES for damage in COMMON
    },
    **{
        f"{kind}-{name}": archived(*KINDS[kind], damage)
        for table in (LISTED, OPENED)
        for kind, cases in table.items()
        for name, (damage, _) in cases.items()
    },
    **{f"always-{name}": archived(*KINDS[each[0]], each[1]) for name, each in ALWAYS.items()},
    **{f"logs-{name}": archived(each[0], each[1]) for name, each in LOGS.items()},
    **{f"query-{name}": archived(each[0], each[1]) for name, each in QUERIES.items()},
    **{f"drawn-{number}": drawn(number) for number in range(RUNS)},
    **{
        f"hostile-{name}": case.build
        for name, case in HOSTILE.items()
        if not case.heavy and not case.in_memory
    },
}


Answer = dict[str, Any] | str
"""What the next start does, as JSON; the code of an error where nothing can be said."""


def by_command(location: Path, capsys: pytest.CaptureFixture[str]) -> Answer:
    with pytest.raises(SystemExit):
        run(["inspect", str(location), "--format", "json"])
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    if document.get("format") == "holdfast.error":
        assert shown.err.split(":")[0].split()[0] == document["code"]
        return str(document["code"])
    return {key: document[key] for key in ("next_start", "on_other_versions")}


def by_api(location: Path) -> Answer:
    try:
        judgement = holdfast.inspect(str(location))
    except HoldfastError as error:
        return error.code
    document = json.loads(render_json(Inspection(judgement=judgement)))
    return {key: document[key] for key in ("next_start", "on_other_versions")}


def by_guard(location: Path, near: BatchId | None) -> Answer:
    try:
        evidence = collect_near(open_reader(str(location)), near)
    except HoldfastError as error:
        return error.code
    case = Case(checkpoint=evidence.checkpoint, overview=overview_of(evidence))
    document = json.loads(render_json(Inspection(judgement=judge(case))))
    return {key: document[key] for key in ("next_start", "on_other_versions")}


@pytest.mark.parametrize("name", DISK_CASES)
def test_all_three_give_the_same_answer(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "checkpoint"
    DISK_CASES[name](place)
    told = by_api(place)
    assert by_command(place, capsys) == told
    for near in hints(place):
        assert by_guard(place, near) == told, f"near {near}"


def hints(place: Path) -> set[BatchId | None]:
    """Return what a ledger may tell: the newest batch, others around it, a wrong one, nothing."""
    names = [file.name for log in ("offsets", "commits") for file in place.glob(f"{log}/*")]
    known = sorted({int(name) for name in names if name.isdecimal() and len(name) < 10})
    found = [BatchId(batch) for batch in (*known[-3:], 0, 1_000)]
    return {None, *found, *(BatchId(batch + 1) for batch in known[-1:])}
