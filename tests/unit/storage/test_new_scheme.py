"""A scheme of storage is its module and one row: then inspect, the record and plans know it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path

import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import run_command
from holdfast.record.generations import newest_generation
from holdfast.record.leases import take_lease
from holdfast.record.owner import this_process
from holdfast.storage.location import Location, is_inside, parse_location
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.open import open_reader
from holdfast.storage.schemes import SCHEMES, Scheme
from holdfast.storage.write import open_writer
from tests.docs.repair_root import STREAM, make_root

ROOT = "shelf://lake/streams"
FILES: dict[str, bytes] = {}


class Below(MutableMapping[str, bytes]):
    """The files below a path."""

    def __init__(self, path: str) -> None:
        self._prefix = f"{path}/"

    def __getitem__(self, path: str) -> bytes:
        return FILES[self._prefix + path]

    def __setitem__(self, path: str, data: bytes) -> None:
        FILES[self._prefix + path] = data

    def __delitem__(self, path: str) -> None:
        del FILES[self._prefix + path]

    def __iter__(self) -> Iterator[str]:
        found = [path for path in FILES if path.startswith(self._prefix)]
        return iter([path.removeprefix(self._prefix) for path in found])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def open_shelf(place: Location, options: Mapping[str, str] | None) -> MemoryStorage:
    """Open a shelf, for reading and for writing."""
    del options
    storage = MemoryStorage()
    storage.location = place
    storage.files = Below(place.path)  # type: ignore[assignment]
    return storage


ROW = Scheme(
    name="shelf",
    reader=f"{__name__}:open_shelf",
    writer=f"{__name__}:open_shelf",
    spellings=("shelves",),
)


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A guarded stream on a shelf, as it would be had its root always been there."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setitem(SCHEMES, "shelf", ROW)
    make_root(tmp_path)
    root = tmp_path / "streams"
    for path in (each for each in root.rglob("*") if each.is_file()):
        data = path.read_bytes().replace(str(root).encode(), ROOT.encode())
        FILES[f"streams/{path.relative_to(root)}"] = data
    yield
    FILES.clear()


def test_its_spellings_are_one_place() -> None:
    assert parse_location("shelves://lake/a//b/") == parse_location("shelf://lake/a/b")
    assert is_inside(parse_location("shelves://lake/a/b"), parse_location("SHELF://lake/a"))
    assert str(parse_location("shelves://lake/a")) == "shelf://lake/a"


def test_it_is_inspected(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["inspect", f"{ROOT}/{STREAM}", "--format", "json"]) == ExitCode.DONE
    said = capsys.readouterr().out
    assert f"{ROOT}/{STREAM}" in said
    assert json.loads(said)


def test_it_has_records() -> None:
    place = f"{ROOT}/_holdfast/{STREAM}"
    assert newest_generation(open_reader(place)) == 1
    writer = open_writer(place)
    first, second = (take_lease(writer, this_process(), takeover=True) for _ in range(2))
    assert second.epoch == first.epoch + 1


def test_it_is_planned_for_and_repaired(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "plan.json")
    asked = ["plan", "snapshot", STREAM, "--root", ROOT, "--name", "before", "-o", file]
    before = dict(FILES)
    assert run_command(asked) == ExitCode.DONE, capsys.readouterr()
    assert before == FILES
    assert run_command(["apply", file, "--execute"]) == ExitCode.DONE, capsys.readouterr()
    kept = {path for path in FILES if "/snapshots/before/" in path}
    assert any(path.endswith("offsets/11") for path in kept)
