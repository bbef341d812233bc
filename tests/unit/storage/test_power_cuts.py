"""Every state that a power cut can leave of our changes on disk: exactly before, or exactly after.

What is half made may be left besides; it has a name that nothing reads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.storage import open_reader, parse_location, write_local
from holdfast.storage.copying import copy_tree
from holdfast.storage.half_made import is_half_made
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.write_local import LocalWriter
from lab.faults.power_cuts import PowerCut, power_cuts

Step = tuple[str, ...]
BEFORE = {"stream/offsets/7": b"v1\n7", "stream/commits/6": b"v1\n6", "_holdfast/a": b"{}"}
REPAIR: list[Step] = [
    ("put_if_absent", "_holdfast/journal/p1/1-begun", "{}"),
    ("copy", "stream/offsets/7", "_holdfast/journal/p1/kept/offsets/7"),
    ("delete", "stream/offsets/7"),
    ("put_if_absent", "_holdfast/journal/p1/1-done", "{}"),
    ("put_if_absent", "_holdfast/journal/p1/2-begun", "{}"),
    ("put", "stream/commits/6", "v1\nother"),
    ("put", "stream/sources/0/0", "v1\n"),
    ("put_if_absent", "_holdfast/journal/p1/2-done", "{}"),
]
PATHS = st.sampled_from(["stream/offsets/7", "stream/commits/6", "a", "b/c", "b/d/e"])
STEPS = st.one_of(
    st.tuples(st.sampled_from(["put", "put_if_absent"]), PATHS, st.text("ab", max_size=3)),
    st.tuples(st.just("delete"), PATHS),
)


def do(writer: LocalWriter | MemoryStorage, step: Step) -> None:
    name, *given = step
    arguments = given if name == "copy" else [given[0], *(each.encode() for each in given[1:])]
    getattr(writer, name)(*arguments)


def prepare(home: Path) -> LocalWriter:
    for path, data in BEFORE.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(data)
    return LocalWriter(parse_location(str(home)))


def expected(steps: list[Step]) -> Iterator[dict[str, bytes]]:
    """Yield what is there before the first step, and after each."""
    memory = MemoryStorage(BEFORE)
    yield dict(memory.files)
    for step in steps:
        do(memory, step)
        yield dict(memory.files)


def find_wrong(home: Path, steps: list[Step]) -> list[PowerCut]:
    """Return the states that are neither before nor after the step that was cut."""
    home.mkdir()
    writer = prepare(home)

    def act() -> None:
        for step in steps:
            do(writer, step)

    states = list(expected(steps))
    wrong = []
    for cut in power_cuts(home, act):
        files = {path: data for path, data in cut.files.items() if not is_half_made(path)}
        returned = len(cut.returned)
        if files not in states[returned : returned + 2]:
            wrong.append(cut)
    return wrong


def test_a_repair_is_always_exactly_between_two_steps(tmp_path: Path) -> None:
    assert find_wrong(tmp_path / "home", REPAIR) == []


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=6))
def test_any_steps_are_whole_or_did_not_happen(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    """A creation that finds a file promises nothing, so it is not counted as returned."""
    done, memory = [], MemoryStorage(BEFORE)
    for step in steps:
        if step[0] != "put_if_absent" or step[1] not in memory.files:
            do(memory, step)
            done.append(step)
    assert find_wrong(tmp_path_factory.mktemp("any") / "home", done) == []


def write_in_place(self: LocalWriter, path: str, data: bytes) -> None:
    full = self.inside(path)
    full.parent.mkdir(parents=True, exist_ok=True)
    with full.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    write_local.sync(full.parent)


class WithoutSyncOf:
    """The module `os`, as a writer sees it that does not sync everything."""

    def __init__(self, is_left_out: Callable[[Path], bool]) -> None:
        self._is_left_out = is_left_out

    def fsync(self, descriptor: int) -> None:
        if not self._is_left_out(Path(f"/proc/self/fd/{descriptor}").readlink()):
            os.fsync(descriptor)

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)


@pytest.mark.parametrize("fault", ["no sync of files", "no sync of directories", "in place"])
def test_a_writer_that_does_not_sync_is_found(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "in place":
        monkeypatch.setattr(LocalWriter, "put", write_in_place)
    else:
        kind = Path.is_file if "files" in fault else Path.is_dir
        monkeypatch.setattr(write_local, "os", WithoutSyncOf(kind))
    assert find_wrong(tmp_path / "home", REPAIR) != []


def test_a_new_directory_that_is_not_synced_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make_only(directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)

    monkeypatch.setattr(write_local, "make_directories", make_only)
    wrong = find_wrong(tmp_path / "home", REPAIR)
    assert any("_holdfast/journal/p1/1-begun" not in cut.files for cut in wrong)


def test_a_copied_tree_is_finished_after_any_power_cut(tmp_path: Path) -> None:
    source, target = tmp_path / "from", tmp_path / "to"
    prepare(source)
    target.mkdir()
    reader, writer = open_reader(str(source)), LocalWriter(parse_location(str(target)))

    def copy() -> None:
        list(copy_tree(reader, writer, workers=1))

    cuts = list(power_cuts(target, copy))
    assert len(cuts) > 10
    for cut in cuts:
        cut.restore(target)
        copy()
        there = {info.path: writer.read(info.path) for info in writer.walk()}
        assert there == BEFORE, cut
