"""Fixes and guards taken out again, one at a time: the machine must find each.

    python -m campaigns.histories --planted [--count N] [--seed S]

It counts as found when a history fails with it that does not fail so without it: holes that are
there anyway do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from campaigns.histories.campaign import Campaign
from campaigns.histories.generate import all_of
from campaigns.histories.history import History
from campaigns.histories.plant import Patch, Plant, all_patched, none, patched
from campaigns.histories.planted_fixes import FIXES
from campaigns.histories.play import Played
from campaigns.histories.shrink import signature
from holdfast.apply.steps.kind import NotDone
from holdfast.ledger.decide import LINES, decide
from holdfast.ledger.output import KeepOutput
from holdfast.rules import Catalogue


def _is_not_done(*_: Any) -> NotDone:
    return NotDone()


def _all_steps(journal: Any) -> frozenset[int]:
    """Return the numbers of all steps of a journal's plan, begun or not."""
    return frozenset(range(1, len(journal._plan.steps) + 1))  # noqa: SLF001 - a patch of it


def _decide_without(name: str) -> Patch:
    """Return a patch that takes a line out of the table by which sinks decide."""
    lines = tuple(each for each in LINES if each.__name__ != name)
    return patched(
        "memory_sink.decide",
        lambda row, attempt: decide(row, attempt, lines=lines),
        package="campaigns.histories",
    )


PLANTS = (
    Plant("nothing is looked at before the first step", "A3", patched("apply.apply._find_moved")),
    Plant(
        "a sink is settled whatever its row is",
        "A6",
        patched("apply.steps.sinks.look_at_sink", _is_not_done),
    ),
    Plant(
        "another plan may be half applied",
        "A3",
        patched("apply.apply._refuse_other_repairs", none),
    ),
    Plant(
        "a plan is made beside one that is half applied",
        "A3",
        patched("plan.make._refuse_half_applied", none),
    ),
    Plant(
        "a start goes ahead while a plan is half applied",
        "A4",
        patched("streams.guard.refuse_unfinished_repair", none),
    ),
    Plant(
        "an undo takes back steps that were not begun",
        "14",
        patched("apply.journal.Journal.begun", _all_steps),
    ),
    Plant(
        "an undo does not look whether it gives back what was there",
        "02",
        patched("apply.undo.find_irreversible"),
    ),
    Plant(
        "an undo keeps the rows that a reset has emptied",
        "01",
        patched("apply.steps.outputs.SinkGoingBack.find", lambda *_, **__: KeepOutput()),
    ),
    Plant(
        "the version of before is not looked for",
        "01",
        patched("sinks.delta.ledger.DeltaLedgerStore.version_before", none),
    ),
    Plant(
        "a table of two streams is emptied",
        "01",
        all_patched(
            patched("plan.make._refuse_shared", none),
            patched("plan.goals.reset.refuse_shared", none),
            patched("sinks.delta.ledger.DeltaLedgerStore.other_streams"),
            patched("memory_ledger.MemoryLedger.other_streams", package="campaigns.histories"),
        ),
    ),
    Plant("a batch that is there is run again", "S3", _decide_without("_same_batch")),
    Plant(
        "a start looks at nothing",
        "G3",
        patched("streams.guard.own_catalogue", lambda _: Catalogue(rules=())),
    ),
    Plant(
        "a resume writes no file log",
        "resume",
        patched("plan.goals.rebuild.file_log_files", lambda *_: {}),
    ),
    Plant(
        "a reset from here forgets which files were read",
        "reset",
        patched("plan.goals.position.read_source_files"),
    ),
    Plant("a rewind keeps the logs of later batches", "rewind", patched("plan.goals.cut._later")),
    Plant(
        "a replay leaves the ledger row where it is", "replay", patched("plan.goals.replay._settle")
    ),
    Plant(
        "a move leaves the ledger rows where they are", "move", patched("plan.goals.clone._rebind")
    ),
)


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


def find_plants(campaign: Campaign, *, seed: int, most: int, where: str = "memory") -> int:
    """Put every plant in, and print how many histories it took to find it."""
    missed = 0
    plants = [each for each in (*FIXES, *PLANTS) if where in each.where]
    for plant in plants:
        try:
            found = find_plant(campaign, plant, seed=seed, most=most)
        except AttributeError as error:  # only of the patch: a history catches its own
            print(f"UNFIT   {plant.name} ({plant.finding}): {error}")
            missed += 1
            continue
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
    print(f"{len(plants) - missed} of {len(plants)} plants found, seed {seed}")
    return 1 if missed else 0
