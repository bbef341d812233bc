"""Fixes and guards taken out again, one at a time: the machine must find each.

    python -m campaigns.histories --planted [--count N] [--seed S]

A plant is a patch of shipped code while histories are played. It counts as found when a history
fails with it that holds without it: holes that are there anyway do not count.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from campaigns.histories.campaign import Campaign
from campaigns.histories.generate import all_of
from campaigns.histories.history import History
from campaigns.histories.play import Played
from campaigns.histories.shrink import signature
from holdfast.apply import apply, applying, undo, undo_output, undo_sinks
from holdfast.apply.standing import NotDone
from holdfast.ledger.decide import LINES
from holdfast.ledger.output import KeepOutput
from holdfast.plan import make
from holdfast.plan.goals import clone, cut, position, put_back, rebuild, replay, reset
from holdfast.sinks.delta import ledger as delta_ledger
from holdfast.streams import guard

Patch = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Plant:
    """One bug to put in."""

    name: str
    finding: str
    """The number of the finding whose fix it takes out, or the guard that it removes."""
    put_in: Patch


def _nothing(*_: Any, **__: Any) -> tuple[()]:
    return ()


def _none(*_: Any, **__: Any) -> None:
    return None


def _is_not_done(*_: Any) -> NotDone:
    return NotDone()


def _steps_not_begun(plan: Any) -> frozenset[int]:
    return frozenset(range(1, len(plan.steps) + 1))


def _put_in_begun() -> AbstractContextManager[Any]:
    from holdfast.apply.journal import Journal  # noqa: PLC0415 - only for this plant

    def begun(self: Journal) -> frozenset[int]:
        return _steps_not_begun(self._plan)

    return patch.object(Journal, "begun", begun)


def _decide_without(name: str) -> Patch:
    """Return a patch that takes a line out of the table by which sinks decide."""

    def put_in() -> AbstractContextManager[Any]:
        from campaigns.histories import memory_sink  # noqa: PLC0415
        from holdfast.ledger.decide import decide  # noqa: PLC0415

        lines = tuple(each for each in LINES if each.__name__ != name)
        return patch.object(
            memory_sink, "decide", lambda row, attempt: decide(row, attempt, lines=lines)
        )

    return put_in


PLANTS = (
    Plant(
        "nothing is looked at before the first step",
        "A3",
        lambda: patch.object(apply, "_find_moved", _nothing),
    ),
    Plant(
        "a sink is settled whatever its row is",
        "A6",
        lambda: patch.object(applying, "look_at_sink", _is_not_done),
    ),
    Plant(
        "another plan may be half applied",
        "A3",
        lambda: patch.object(apply, "_refuse_other_repairs", _none),
    ),
    Plant(
        "a plan is made beside one that is half applied",
        "A3",
        lambda: patch.object(make, "_refuse_half_applied", _none),
    ),
    Plant(
        "a start goes ahead while a plan is half applied",
        "A4",
        lambda: patch.object(guard, "refuse_unfinished_repair", _none),
    ),
    Plant("an undo takes back steps that were not begun", "14", _put_in_begun),
    Plant(
        "an undo does not look whether it gives back what was there",
        "02",
        lambda: patch.object(undo, "find_unlike_before", _nothing),
    ),
    Plant(
        "an undo leaves sinks alone that were not settled",
        "14",
        lambda: patch.object(undo_sinks.UndoingSinks, "rebind", _nothing),
    ),
    Plant(
        "the version of before is not looked for",
        "01",
        lambda: patch.object(delta_ledger.DeltaLedgerStore, "version_before", _none),
    ),
    Plant(
        "a table of two streams is emptied",
        "01",
        lambda: _both(
            patch.object(make, "find_sharing", _nothing),
            patch.object(reset, "refuse_shared", _none),
            patch.object(make, "_refuse_shared", _none),
            patch.object(delta_ledger.DeltaLedgerStore, "other_streams", _nothing),
            _memory_without_others(),
        ),
    ),
    Plant(
        "a sink that is behind is put back all the same",
        "15",
        lambda: patch.object(put_back, "settle_back", _settle_back_anyway(put_back.settle_back)),
    ),
    Plant("a batch that is there is run again", "S3", _decide_without("_same_batch")),
    Plant(
        "a start looks at nothing",
        "G3",
        lambda: patch.object(guard, "judge", _nothing),
    ),
    Plant(
        "an undo keeps the rows that a reset has emptied",
        "01",
        lambda: patch.object(undo_output.SinkGoingBack, "find", lambda *_, **__: KeepOutput()),
    ),
    Plant(
        "a resume writes no file log",
        "resume",
        lambda: patch.object(rebuild, "file_log_files", lambda *_: {}),
    ),
    Plant(
        "a reset from here begins at the newest file",
        "reset",
        lambda: patch.object(position, "read_source_files", _nothing),
    ),
    Plant(
        "a rewind keeps the logs of later batches",
        "rewind",
        lambda: patch.object(cut, "_later", _nothing),
    ),
    Plant(
        "a replay leaves the ledger row where it is",
        "replay",
        lambda: patch.object(replay, "_settle", _nothing),
    ),
    Plant(
        "a move leaves the ledger rows where they are",
        "move",
        lambda: patch.object(clone, "_rebind", _nothing),
    ),
    Plant(
        "a step that is done is carried out again",
        "A5",
        lambda: patch.object(apply, "Done", NotDone),
    ),
)


def _memory_without_others() -> AbstractContextManager[Any]:
    from campaigns.histories.memory_sink import MemoryLedger  # noqa: PLC0415

    return patch.object(MemoryLedger, "other_streams", _nothing)


def _settle_back_anyway(settle_back: Callable[..., Any]) -> Callable[..., Any]:
    def anyway(sink: Any, stream: str, *, batch: int, **more: Any) -> Any:
        held = batch if sink.row is None else min(batch, sink.row.last_batch)
        return settle_back(sink, stream, batch=held, **more)

    return anyway


class _Both:
    """Several patches as one."""

    def __init__(self, *patches: AbstractContextManager[Any]) -> None:
        self._patches = patches

    def __enter__(self) -> None:
        for each in self._patches:
            each.__enter__()

    def __exit__(self, *_: object) -> None:
        for each in reversed(self._patches):
            each.__exit__(None, None, None)


def _both(*patches: AbstractContextManager[Any]) -> AbstractContextManager[Any]:
    return _Both(*patches)


@dataclass(frozen=True)
class FoundPlant:
    """A plant, and the first history that shows it."""

    plant: Plant
    histories: int
    """How many were played until then."""
    history: History | None
    played: Played | None


def find_plant(campaign: Campaign, plant: Plant, *, seed: int, most: int) -> FoundPlant:
    """Play histories with a plant until one fails that holds without it."""
    for number, history in enumerate(all_of(seed, most), start=1):
        with plant.put_in():
            played = campaign.play(history)
        if played.kind and campaign.play(history).kind != played.kind:
            return FoundPlant(plant, number, history, played)
    return FoundPlant(plant, most, None, None)


def find_plants(campaign: Campaign, *, seed: int, most: int) -> int:
    """Put every plant in, and print how many histories it took to find it."""
    missed = 0
    for plant in PLANTS:
        found = find_plant(campaign, plant, seed=seed, most=most)
        if found.history is None or found.played is None:
            missed += 1
            print(f"MISSED  {plant.name} ({plant.finding}): {found.histories:,} histories")
            continue
        shown = signature(found.history, found.played)
        print(
            f"found   {plant.name} ({plant.finding}): after {found.histories:,} histories, "
            f"{found.history.name}: {shown[:160]}",
            flush=True,
        )
    print(f"{len(PLANTS) - missed} of {len(PLANTS)} plants found, seed {seed}")
    return 1 if missed else 0
