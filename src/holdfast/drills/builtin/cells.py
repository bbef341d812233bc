"""The drills that come with Holdfast: every built-in stream in every phase that it reaches."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from holdfast.drills.builtin.kinds import KINDS, Scene
from holdfast.drills.builtin.places import DSN_NAME, ScratchSink
from holdfast.drills.builtin.workload import (
    APPEND,
    COUNTS,
    FILES,
    FILES_OF_A_CHAIN,
    JOIN,
    MERGE,
    Shape,
    write_files,
)
from holdfast.drills.checks import KEPT
from holdfast.drills.drill import Answer, Drilled, Seen, run_drill
from holdfast.drills.jvm import jvm_environment
from holdfast.drills.kill.driver import RUN_SECONDS, Driver
from holdfast.drills.phases import (
    CHECKPOINT,
    ENDING,
    EVERY,
    SINK,
    STARTING,
    STATE,
    TWO_SINKS,
    UPKEEP,
    WRITTEN_DOWN,
    Phase,
    every_phase,
)
from holdfast.drills.polling_reader import polling_reader
from holdfast.drills.scratch import read_rows
from holdfast.spark_versions import reads_state

_PROGRAM = Path(__file__).parents[1] / "programs" / "builtin.py"
_UPKEEP = {
    "spark.sql.streaming.fileSource.log.compactInterval": "3",
    "spark.sql.streaming.minBatchesToRetain": "2",
}
"""So often that a drill reaches it."""
_STORE = "spark.sql.streaming.stateStore."
_ROCKSDB = {
    f"{_STORE}providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
STATES = {"rocksdb": _ROCKSDB, "rocksdb2": {**_ROCKSDB, f"{_STORE}checkpointFormatVersion": "2"}}
"""How queries keep state: RocksDB in its formats 1 and 2."""
_BOTH = ("delta", "postgres")


class BuiltinStream(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of stream."""

    into: tuple[str, ...]
    """The kinds of its sinks."""
    shape: Shape
    state: str | None = None
    """How its query keeps state, if it does."""

    @property
    def name(self) -> str:
        """As its drills are asked for."""
        into = self.into[0] if len(self.into) == 1 else "both"
        return "-".join([into, self.shape.name, *([self.state] if self.state else [])])

    @property
    def settings(self) -> Mapping[str, str]:
        """What its session is told."""
        return {**_UPKEEP, **(STATES[self.state] if self.state else {})}

    @property
    def needs_database(self) -> bool:
        """Whether one of its sinks is a table in a scratch database."""
        return any(KINDS[kind].needs_database for kind in self.into)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Those that it reaches."""
        kinds = [KINDS[kind] for kind in self.into]
        sinks = [phase for kind in kinds for phase in kind.phases]
        has_two = len(self.into) > 1
        return (
            *(*STARTING, *CHECKPOINT, *SINK, *sinks),
            *(STATE if self.state else ()),
            *(TWO_SINKS if has_two else ()),
            *(WRITTEN_DOWN if has_two and self.state else ()),
            *(*UPKEEP, *ENDING),
            every_phase([kind.kills for kind in kinds], has_state=self.state is not None),
        )


BUILTIN = {
    each.name: each
    for each in (
        *(
            BuiltinStream(into=(kind.name,), shape=shape)
            for kind in KINDS.values()
            for shape in (APPEND, *([MERGE] if kind.has_keys else []))
        ),
        BuiltinStream(into=_BOTH, shape=APPEND),
        *(
            BuiltinStream(into=(kind,), shape=shape, state=state)
            for shape in (COUNTS, JOIN)
            for state in STATES
            for kind in _BOTH
        ),
        BuiltinStream(into=_BOTH, shape=COUNTS, state="rocksdb2"),
    )
}


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One drill: a built-in stream, and the phase it is killed in."""

    stream: BuiltinStream
    phase: Phase
    files: int = FILES
    """How many there are to read; each is a batch."""

    @property
    def name(self) -> str:
        """As it is listed and asked for."""
        return f"{self.stream.name}/{self.phase.name}"


def _cell(stream: BuiltinStream, phase: Phase) -> Cell:
    files = FILES_OF_A_CHAIN if phase.name == EVERY else FILES
    return Cell(stream=stream, phase=phase, files=files)


CELLS = {
    cell.name: cell
    for cell in (_cell(each, phase) for each in BUILTIN.values() for phase in each.phases)
}


@dataclass(frozen=True, kw_only=True)
class BuiltinSubject:
    """A built-in stream in a scratch place; a `Subject`."""

    stream: BuiltinStream
    files: int
    home: Path
    dsn: str | None = field(repr=False)
    seconds: float = RUN_SECONDS
    """How long one driver may take."""

    @cached_property
    def places(self) -> Sequence[ScratchSink]:
        """Where it writes to."""
        return self.open_places()

    @property
    def _state(self) -> Path:
        return self.home / "state.jsonl"

    @cached_property
    def _stream(self) -> str:
        return f"drill-{secrets.token_hex(4)}"

    @cached_property
    def _table(self) -> str:
        return f"holdfast_drill_{secrets.token_hex(6)}"

    def open_places(self) -> Sequence[ScratchSink]:
        """Return the same places for a reader; what a place has read it keeps for itself."""
        scene = Scene(home=self.home, dsn=self.dsn, table=self._table, stream=self._stream)
        return [KINDS[kind].place(scene, self.stream.shape) for kind in self.stream.into]

    @cached_property
    def config(self) -> dict[str, Any]:
        """What its program is told: a root of its own, a source, its tables."""
        return {
            "sinks": [place.config() for place in self.places],
            "files": str(self.home / "files"),
            "shape": self.stream.shape.name,
            "stream": self._stream,
            "root": str(self.home / "streams"),
            "state": str(self._state),
            "settings": self.stream.settings,
        }

    @cached_property
    def driver(self) -> Driver:
        """The stream's program."""
        secret = {} if self.dsn is None else {DSN_NAME: self.dsn}
        program = [str(_PROGRAM), json.dumps(self.config)]
        return Driver(
            program,
            environment={**jvm_environment(), **secret},
            directory=self.home / "runs",
            seconds=self.seconds,
            checkpoints=self.home,
        )

    @property
    def answers(self) -> Sequence[Answer]:
        """What its tables must hold after every file, and its state in the end."""
        shape = self.stream.shape
        key, sequence = (0, 1) if shape.is_keyed else (None, None)
        after = [shape.after(files) for files in range(self.files + 1)]
        tables = [
            Answer(sink=place.kind, after=after, key=key, sequence=sequence)
            for place in self.places
        ]
        if not reads_state(version("pyspark")):
            return tables
        return [*tables, Answer(sink=KEPT, after=([], shape.state(self.files)))]

    def look(self) -> Iterator[Seen]:
        """Read its tables, each with its ledger; and its state, when the last run has kept it."""
        yield from look_at(self.places)
        if self._state.exists():
            yield Seen(sink=KEPT, parts=None, rows=read_rows(self._state))


def run_cell(
    cell: Cell, *, directory: Path, dsn: str | None, seconds: float = RUN_SECONDS
) -> Drilled:
    """Run one drill in a directory of its own, in which no driver may take longer than that."""
    subject = BuiltinSubject(
        stream=cell.stream, files=cell.files, home=directory, dsn=dsn, seconds=seconds
    )
    write_files(directory / "files", files=cell.files)
    for place in subject.places:
        place.prepare()
    try:
        return run_drill(
            cell.name,
            subject,
            cell.phase.kills,
            directory=directory,
            reading=partial(polling_reader, partial(look_at, subject.open_places())),
        )
    finally:
        for place in subject.places:
            place.clean()


def look_at(places: Sequence[ScratchSink]) -> Iterator[Seen]:
    """Read places, one after the other."""
    for place in places:
        yield from place.look()
