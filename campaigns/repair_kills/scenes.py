"""Every goal, and what has happened to the stream before."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from campaigns.repair_kills.beside import FILED, SERVED
from campaigns.repair_kills.world import BATCHES, World
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Plan
from holdfast.plan.requests import Request
from holdfast.record.documents import encode
from holdfast.record.generations import REWOUND, Generation

Damage = Callable[[World], None]
NEWEST = BATCHES - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One goal on one world."""

    name: str
    request: Request
    stream: str = "readings"
    """A stream, or the path of a bare checkpoint below the home."""
    damage: Damage = lambda _: None
    is_final: bool = False
    """Whether it deletes for good, so that there is no undo."""

    def plan(self, world: World) -> Plan:
        """Return the plan for the world as it is."""
        is_bare = "/" in self.stream
        location = str(world.home / self.stream) if is_bare else self.stream
        looks = DiagnoseRequest(location=location, root=None if is_bare else str(world.root))
        request = self.request
        if request.goal == "move":
            request = replace(request, target=str(world.home / request.target))
        found = make_plan(request, looks)
        assert isinstance(found, Plan), f"{self.name}: {found}"
        return found


def _files(world: World) -> str:
    return str(world.root / "readings")


def delete_checkpoint(world: World) -> None:
    """Lose all of it."""
    shutil.rmtree(_files(world))


def leave_orphan(world: World) -> None:
    """Leave what a kill in the first batch leaves."""
    home = world.home / "bare/fresh"
    (home / "offsets").mkdir(parents=True)
    (home / "commits").mkdir()
    (home / "metadata").write_text('{"id":"5a1f7e0a-55a1-4c6e-9d5c-0b7f1d1f0a01"}')
    (home / "offsets/.0.5a1f7e0a-0000-4c6e-9d5c-0b7f1d1f0a01.tmp").write_bytes(b"v1")


def cut_newest_offset(world: World) -> None:
    """Cut the newest offset entry short, of a batch that the sink holds."""
    path = world.root / f"readings/offsets/{NEWEST}"
    path.write_bytes(path.read_bytes()[:20])


def cut_newest_offset_bare(world: World) -> None:
    """Cut the newest offset entry short, of a batch that did not end."""
    path = world.home / f"bare/readings/offsets/{NEWEST}"
    path.write_bytes(path.read_bytes()[:20])
    (world.home / f"bare/readings/commits/{NEWEST}").unlink()


def cut_commit(world: World) -> None:
    """Cut the newest commit entry short."""
    (world.root / f"readings/commits/{NEWEST}").write_bytes(b"v1\n{")


def lose_previous(world: World) -> None:
    """Lose the offset entry before the newest."""
    (world.root / f"readings/offsets/{NEWEST - 1}").unlink()


def lose_previous_bare(world: World) -> None:
    """Lose the offset entry before the newest, without a ledger."""
    (world.home / f"bare/readings/offsets/{NEWEST - 1}").unlink()


def lose_newest_offset(world: World) -> None:
    """Lose the newest offset entry, and keep its commit."""
    (world.root / f"readings/offsets/{NEWEST}").unlink()


def lose_newest_offset_bare(world: World) -> None:
    """Lose the newest offset entry, without a ledger."""
    (world.home / f"bare/readings/offsets/{NEWEST}").unlink()


def lose_metadata(world: World) -> None:
    """Empty the file with the query's id."""
    (world.root / "readings/metadata").write_bytes(b"")


def take_snapshot(world: World) -> None:
    """Keep a copy as `snapshot` does."""
    shutil.copytree(_files(world), world.root / "_holdfast/readings/snapshots/before")


def open_second_generation(world: World) -> None:
    """Leave the first generation, long ago."""
    shutil.copytree(_files(world), world.root / "readings.g2")
    generations = world.root / "_holdfast/readings/generations"
    first = msgspec.json.decode((generations / "0001.json").read_bytes(), type=Generation)
    second = msgspec.structs.replace(
        first, number=2, checkpoint=str(world.root / "readings.g2"), why=REWOUND
    )
    (generations / "0002.json").write_bytes(encode(second))


_RESUME = Request(goal="resume")
_BARE = "bare/readings"


def _resume(name: str, damage: Damage, stream: str = "readings") -> Scene:
    return Scene(name=f"resume: {name}", request=_RESUME, damage=damage, stream=stream)


def _plain(request: Request) -> Scene:
    """Return a goal of a stream that nobody guards, whose output is left to a person."""
    what = f" {request.start}" if request.start else ""
    return Scene(name=f"plain {request.goal}{what}", request=request, stream=_BARE)


def _reset(name: str, start: str, output: str, **more: object) -> Scene:
    stream = str(more.pop("stream", "readings"))
    request = Request(goal="reset", start=start, output=output, **more)  # type: ignore[arg-type]
    return Scene(name=f"reset: {name}", request=request, stream=stream)


SCENES = (
    _resume("deleted checkpoint", delete_checkpoint),
    _resume("orphan of batch 0", leave_orphan, "bare/fresh"),
    _resume("cut newest offset, ledger", cut_newest_offset),
    _resume("cut newest offset, bare", cut_newest_offset_bare, _BARE),
    _resume("damaged commit", cut_commit),
    _resume("previous entry, ledger", lose_previous),
    _resume("previous entry, bare", lose_previous_bare, _BARE),
    _resume("commit ahead, ledger", lose_newest_offset),
    _resume("commit ahead, bare", lose_newest_offset_bare, _BARE),
    _resume("empty metadata", lose_metadata),
    Scene(name="replay: keep", request=Request(goal="replay", output="keep")),
    _reset("truncate", "earliest", "truncate"),
    _reset("keep-from-here", "here", "keep-from-here"),
    Scene(name="rewind: keep", request=Request(goal="rewind", batch=1, output="keep")),
    Scene(
        name="restore",
        request=Request(goal="restore", target="before"),
        damage=take_snapshot,
    ),
    Scene(name="snapshot", request=Request(goal="snapshot", target="now")),
    Scene(name="clone", request=Request(goal="clone", target="readings-two")),
    Scene(name="move", request=Request(goal="move", target="moved")),
    _plain(Request(goal="reset", start="earliest", output="truncate")),
    _plain(Request(goal="reset", start="here", output="keep-from-here")),
    _plain(Request(goal="rewind", batch=1, output="restore")),
    _plain(Request(goal="replay", output="restore")),
    _plain(Request(goal="move", target="moved")),
    _plain(Request(goal="retire")),
    Scene(
        name="prune",
        request=Request(goal="prune"),
        damage=open_second_generation,
        is_final=True,
    ),
    Scene(name="retire", request=Request(goal="retire"), is_final=True),
)

DELTA_SCENES = (
    _reset(
        "three streams into a new table, cascade",
        "earliest",
        "truncate",
        stream="raw",
        cascade=True,
        outputs={"raw/raw": "new-table"},
    ),
    _reset("Delta and two streams, cascade", "earliest", "truncate", stream="raw", cascade=True),
    Scene(
        name="replay: restore Delta, cascade",
        request=Request(goal="replay", output="restore", cascade=True),
        stream="raw",
    ),
    Scene(
        name="rewind: restore Delta, cascade",
        request=Request(goal="rewind", batch=1, output="restore", cascade=True),
        stream="raw",
    ),
)

OTHER_SCENES = (
    _reset("truncate files", "earliest", "truncate", stream=FILED),
    _reset("keep files from here", "here", "keep-from-here", stream=FILED),
    Scene(
        name="rewind: restore files",
        request=Request(goal="rewind", batch=1, output="restore"),
        stream=FILED,
    ),
    _reset("truncate SQLite", "earliest", "truncate", stream=SERVED),
    _reset("keep SQLite from here", "here", "keep-from-here", stream=SERVED),
    Scene(
        name="rewind: keep SQLite",
        request=Request(goal="rewind", batch=1, output="keep"),
        stream=SERVED,
    ),
)
"""Of streams into sinks that are neither PostgreSQL nor Delta, and need no server."""
