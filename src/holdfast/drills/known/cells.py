"""The drills that come with Holdfast: every known stream in every phase that it comes by."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from holdfast.drills.checks import READER
from holdfast.drills.drill import Answer, Drilled, Seen, run_drill, write_down
from holdfast.drills.history import History
from holdfast.drills.kill.driver import Driver
from holdfast.drills.known.places import DSN_NAME, DeltaPlace, Place, PostgresPlace
from holdfast.drills.known.workload import APPEND, COUNTS, FILES, MERGE, Shape, write_files
from holdfast.drills.phases import (
    CHECKPOINT,
    SINK,
    STARTING,
    STATE,
    TABLE_LOG,
    TRANSACTION,
    Phase,
)

READER_PERIOD_S = 0.2
_PROGRAM = Path(__file__).parents[1] / "programs" / "known.py"
_STORE = "spark.sql.streaming.stateStore."
_ROCKSDB = {
    f"{_STORE}providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
_FORMAT_2 = {**_ROCKSDB, f"{_STORE}checkpointFormatVersion": "2"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A kind of stream."""

    name: str
    into: str
    shape: Shape
    phases: tuple[Phase, ...]
    settings: Mapping[str, str] = field(default_factory=dict)


_GUARDED = {
    "delta": (*STARTING, *CHECKPOINT, *SINK, *TABLE_LOG),
    "postgres": (*STARTING, *CHECKPOINT, *SINK, *TRANSACTION),
}
_STATES = {"rocksdb": _ROCKSDB, "rocksdb2": _FORMAT_2}


def _plain(into: str, shape: Shape) -> Known:
    return Known(name=f"{into}-{shape.name}", into=into, shape=shape, phases=_GUARDED[into])


def _counting(into: str, state: str) -> Known:
    return Known(
        name=f"{into}-{COUNTS.name}-{state}",
        into=into,
        shape=COUNTS,
        phases=(*_GUARDED[into], *STATE),
        settings=_STATES[state],
    )


KNOWN = {
    each.name: each
    for each in (
        *(_plain(into, shape) for into in _GUARDED for shape in (APPEND, MERGE)),
        *(_counting(into, state) for into in _GUARDED for state in _STATES),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One drill: a known stream, and the phase it is killed in."""

    stream: Known
    phase: Phase

    @property
    def name(self) -> str:
        """As it is listed and asked for."""
        return f"{self.stream.name}/{self.phase.name}"


CELLS = {
    cell.name: cell
    for cell in (Cell(stream=each, phase=phase) for each in KNOWN.values() for phase in each.phases)
}


@dataclass(frozen=True, kw_only=True)
class KnownSubject:
    """A known stream in a scratch place; a `Subject`."""

    stream: Known
    home: Path
    dsn: str | None

    @cached_property
    def place(self) -> Place:
        """Where it writes to."""
        if self.stream.into == "delta":
            return DeltaPlace(home=self.home)
        assert self.dsn is not None, "the drill needs a scratch database"
        table = f"holdfast_drill_{secrets.token_hex(6)}"
        return PostgresPlace(dsn=self.dsn, table=table, shape=self.stream.shape)

    @cached_property
    def driver(self) -> Driver:
        """The stream's program, on a root of its own."""
        config = {
            **self.place.config(),
            "files": str(self.home / "files"),
            "shape": self.stream.shape.name,
            "stream": f"drill-{secrets.token_hex(4)}",
            "root": str(self.home / "streams"),
            "settings": dict(self.stream.settings),
        }
        environment = {} if self.dsn is None else {DSN_NAME: self.dsn}
        program = [str(_PROGRAM), json.dumps(config)]
        return Driver(program, environment=environment, directory=self.home / "runs")

    @property
    def answers(self) -> Sequence[Answer]:
        """What its table must hold after every file."""
        shape = self.stream.shape
        keyed = {"key": 0, "sequence": 1} if shape.is_keyed else {}
        after = [shape.after(files) for files in range(FILES + 1)]
        return (Answer(sink="table", after=after, **keyed),)

    def look(self) -> Iterator[Seen]:
        """Read its table and its ledger."""
        return self.place.look()


def run_cell(cell: Cell, *, directory: Path, dsn: str | None) -> Drilled:
    """Run one drill in a directory of its own."""
    subject = KnownSubject(stream=cell.stream, home=directory, dsn=dsn)
    write_files(directory / "files")
    subject.place.prepare()
    try:
        return run_drill(
            cell.name,
            subject,
            cell.phase.kills,
            directory=directory,
            reading=partial(_reading, subject.place),
        )
    finally:
        subject.place.clean()


@contextmanager
def _reading(place: Place, history: History) -> Iterator[None]:
    """Look at the sink all the time, beside the drivers; what keeps that from it is raised."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(READER_PERIOD_S):
            write_down(history, place.look(), by=READER, run=0)

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(look)
        try:
            yield
        finally:
            ended.set()
        reading.result()
