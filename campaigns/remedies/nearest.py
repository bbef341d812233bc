"""Commands that give no plan, and the nearest one that their answer names: it is carried out."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import holdfast as hf
from campaigns.remedies.kafka import TopicTotals
from campaigns.remedies.remedy import NEAREST, Bench, CarriedOut, Remedy, nearest_to
from campaigns.remedies.streams import (
    DSN,
    STREAM,
    DeltaStream,
    FileStream,
    TotalsStream,
    cut_off,
    delete,
)

BATCHES = 4
Damage = Callable[[FileStream], None]


@dataclass
class MergedStream(FileStream):
    """Into a table that is merged by its key, without an order."""

    def __post_init__(self) -> None:
        """Give the table its key."""
        super().__post_init__()
        self.execute("ALTER TABLE readings ADD UNIQUE (value)")

    def sink(self) -> Any:
        """Return where it writes."""
        return hf.Postgres(f"env:{DSN}", table="readings", keys=["value"])


def _nothing(_: FileStream) -> None:
    """Leave it as it is."""


def _instead_of(
    asked: str, damage: Damage = _nothing, made: type[FileStream] = FileStream, *, repeats: int = 0
) -> Callable[[Bench, str], CarriedOut]:
    """Return what asks for a plan that there is not, and carries out the nearest one.

    Args:
        asked: The goal and its options.
        damage: What is done to the stream before.
        made: The stream.
        repeats: How many rows the nearest plan says that it repeats.
    """

    def carry_out(bench: Bench, code: str) -> CarriedOut:
        stream = made(bench)
        for _ in range(BATCHES):
            stream.add(1)
            stream.run()
        damage(stream)
        goal, *options = asked.split()
        words = ("holdfast plan", goal, STREAM, f"--root {stream.root}", *options)
        done = stream.repair(code, command=nearest_to(" ".join(words)))
        return CarriedOut(
            command=done.command, plan=done.plan, difference=done.difference, repeats=repeats
        )

    return carry_out


def _pending_lost(stream: FileStream) -> None:
    """Lose the entry of a batch that the sink holds and that was not committed."""
    delete(stream.checkpoint, "commits/3")
    cut_off(stream.checkpoint, "offsets/3")


def _all_deleted(stream: FileStream) -> None:
    shutil.rmtree(stream.checkpoint)


_RESET = "reset --from here --output truncate"
_CASES: dict[str, tuple[str, Callable[[Bench, str], CarriedOut]]] = {
    "several-batches-merged": ("rewind", _instead_of("replay --batches 2", made=MergedStream)),
    "all-batches-merged": ("reset", _instead_of("replay --batches 4", made=MergedStream)),
    "several-batches-with-state": ("rewind", _instead_of("replay --batches 2", made=TotalsStream)),
    "replay-without-versions": ("replay", _instead_of("replay", repeats=1)),
    "rewind-without-versions": ("rewind", _instead_of("rewind --to-batch 1", repeats=2)),
    "resume-of-lost-pending-state": ("rewind", _instead_of("resume", _pending_lost, TotalsStream)),
    "resume-of-deleted-state": ("reset", _instead_of("resume", _all_deleted, TotalsStream)),
    "resume-of-deleted-state-kafka": ("reset", _instead_of("resume", _all_deleted, TopicTotals)),
    "reset-from-here-with-state": ("reset", _instead_of(_RESET, made=TotalsStream)),
    "snapshot-of-a-deleted-checkpoint": (
        "resume",
        _instead_of("snapshot --name before", _all_deleted, DeltaStream),
    ),
}
REMEDIES = tuple(
    Remedy(name=f"nearest-{name}", code=NEAREST, goal=goal, carry_out=carry_out)
    for name, (goal, carry_out) in _CASES.items()
)
