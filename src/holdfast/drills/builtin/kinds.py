"""The kinds of sinks that built-in streams write to: all that drills must know of each.

The streams, their phases, the program of the driver and the command line all take them from here.
A kind of a user's own is here as well when its class says how it is drilled (`hf.Sink.for_drill`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

import holdfast as hf
from holdfast.drills.builtin.places import (
    DSN_NAME,
    ScratchDelta,
    ScratchPostgres,
    ScratchSink,
    ScratchUserSink,
)
from holdfast.drills.builtin.workload import Shape
from holdfast.drills.kill.points import Named, Point, Rename
from holdfast.drills.phases import TABLE_LOG, TRANSACTION, Phase
from holdfast.sinks.kinds import find_kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where a drill runs."""

    home: Path
    dsn: str | None = field(repr=False)
    """Of a scratch database, where one was given."""
    table: str
    """A name that no other drill has."""
    stream: str


class SinkKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of sink, as drills know it."""

    name: str
    phases: tuple[Phase, ...]
    """Those inside its write, which streams into other kinds do not reach."""
    kills: tuple[Point, ...]
    """The same inside one batch, in the chain of all phases."""
    place: Callable[[Scene, Shape], ScratchSink]
    """Opens a sink of this kind in a scene."""
    sink: Callable[..., Any]
    """Declares the sink in the driver, given its table, and its keys where it has any."""
    needs_database: bool = False
    has_keys: bool = True
    """Whether it can merge."""


def _delta_place(scene: Scene, shape: Shape) -> ScratchSink:
    return ScratchDelta(home=scene.home, shape=shape)


def _delta_sink(table: str, **keyed: Any) -> Any:
    return hf.Delta(path=table, **keyed)


def _postgres_place(scene: Scene, shape: Shape) -> ScratchSink:
    assert scene.dsn is not None, "the drill needs a scratch database"
    return ScratchPostgres(dsn=scene.dsn, table=scene.table, shape=shape)


def _postgres_sink(table: str, **keyed: Any) -> Any:
    return hf.Postgres(f"env:{DSN_NAME}", table=table, **keyed)


def _user_kind(found: type[hf.Sink]) -> SinkKind:
    """Return a kind of a user's own, in a file or a directory of the drill."""
    return SinkKind(
        name=found.kind,
        phases=tuple(phase for phase in TRANSACTION if phase.name != "sink-data-some"),
        kills=(Named("S4"), Named("S5")),
        place=lambda scene, shape: ScratchUserSink(
            home=scene.home, shape=shape, sink=found, stream=scene.stream
        ),
        sink=lambda table: found.for_drill(Path(table)),
        has_keys=False,
    )


def _user_kinds() -> Iterator[SinkKind]:
    for found in find_kinds().values():
        if issubclass(found, hf.Sink) and "for_drill" in vars(found):
            yield _user_kind(found)


KINDS = {
    kind.name: kind
    for kind in (
        SinkKind(
            name="delta",
            phases=TABLE_LOG,
            # Of a table that is there: every start has a fence first.
            kills=(Rename("before", ".json", 2), Rename("after", ".json", 2)),
            place=_delta_place,
            sink=_delta_sink,
        ),
        SinkKind(
            name="postgres",
            phases=TRANSACTION,
            kills=(Named("copying"), Named("S4"), Named("S5")),
            place=_postgres_place,
            sink=_postgres_sink,
            needs_database=True,
        ),
        *_user_kinds(),
    )
}
