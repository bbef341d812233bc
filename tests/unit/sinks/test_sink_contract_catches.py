"""The suite that is shipped for users' own sinks finds a bug that is planted in one.

Every clause has at least one bug that it finds, and a sink without a bug passes all of them.
"""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast import testing
from holdfast.sinks.sink import KINDS, SinkSpec
from holdfast.testing import sink_contract
from holdfast.testing.sink_batches import Batches
from holdfast.testing.sink_contract import SinkContract
from tests.kinds.sqlite_sink import Sqlite
from tests.stand_ins import stand_in
from tests.unit.sinks.broken_sinks import BUGS, Bug
from tests.unit.sinks.frames import FrameSession

SHIPPED = Path(testing.__file__).parent
CLAUSES = {name for name in dir(SinkContract) if name.startswith("test_")}
WITHOUT = {
    "nothing": (),
    "versions": ("version",),
    "settle": ("take_rows", "put_back"),
    "contents": ("read_back",),
    "all": ("version", "take_rows", "put_back", "read_back"),
}
"""What a sink without a bug lacks, and the methods that it has not."""
NAMED = {"kind": "broken", "__module__": __name__}
MakeSink = Callable[[Bug], Any]


class Suite(SinkContract):
    def rows(self, sink: Any, spark: Any) -> list[tuple[Any, ...]]:
        del spark
        with closing(sink.connect()) as connection:
            return list(connection.execute(f"SELECT * FROM {sink.table}"))


@pytest.fixture
def spark() -> Any:
    return stand_in(FrameSession())


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeSink]:
    """Define a kind of sink that has other attributes, and return a sink of it."""
    with ExitStack() as opened:

        def connect(self: Any) -> sqlite3.Connection:
            found: sqlite3.Connection = sqlite3.connect(
                self.path,
                isolation_level=None,
                check_same_thread=False,
                factory=self.connection_class,
            )
            opened.callback(found.close)
            found.execute("PRAGMA synchronous = OFF")  # nothing here outlives the machine
            return found

        def define(bug: Bug) -> Any:
            given = {"connect": connect, "connection_class": sqlite3.Connection, **NAMED, **bug}
            broken: Any = dataclass(frozen=True)(type("Broken", (Sqlite,), given))
            monkeypatch.setitem(globals(), "Broken", broken)  # where pickle looks for it
            return broken(path=str(tmp_path / "readings.sqlite"))

        yield define
    KINDS.pop("broken", None)


class TestWithoutABug(Suite):
    """So that a bug, and nothing else of the sink or of its frames, is what a clause finds."""

    @pytest.fixture(params=WITHOUT.values(), ids=[f"without {name}" for name in WITHOUT])
    def sink(self, request: pytest.FixtureRequest, make: MakeSink) -> SinkSpec:
        found: SinkSpec = make({name: getattr(hf.Sink, name) for name in request.param})
        return found


def test_every_clause_has_a_bug_that_it_finds() -> None:
    assert set(BUGS) == CLAUSES
    assert all(BUGS.values())


@pytest.mark.parametrize(
    ("clause", "bug"),
    [
        pytest.param(clause, bug, id=f"{clause}: {name}")
        for clause, bugs in BUGS.items()
        for name, bug in bugs.items()
    ],
)
def test_a_planted_bug_is_found(
    clause: str, bug: Bug, *, make: MakeSink, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an assertion of the clause, and not by an error of the sink or of the fixtures."""
    # A fence that should wait, and does not, has the time for it on a busy machine too.
    monkeypatch.setattr(sink_contract, "HELD_S", 60)
    sink, batches = make(bug), Batches(spark)
    test = getattr(Suite(), clause)
    given: dict[str, Any] = {"sink": sink, "batches": batches}
    if "writer" in inspect.signature(test).parameters:
        given["writer"] = batches.start(sink)
        assert given["writer"].ledger.replace(None, batches.row(given["writer"]))
    with pytest.raises(AssertionError) as found:
        _run(test, {name: given[name] for name in inspect.signature(test).parameters})
    assert Path(found.traceback[-1].path).parent == SHIPPED


def _run(test: Callable[..., None], given: dict[str, Any]) -> None:
    """Run a clause; one that is skipped has found nothing."""
    try:
        test(**given)
    except pytest.skip.Exception as skipped:
        pytest.fail(f"the clause was skipped: {skipped}")
