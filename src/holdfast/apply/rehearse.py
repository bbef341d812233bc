"""Rehearses a plan: the same steps on an overlay in memory, and what Spark would do then.

Sinks are only looked at. No lease is taken and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.apply.applying import PlanRun, ProgressCallbacks
from holdfast.apply.checks import find_moved
from holdfast.apply.confined import refuse_unlike_steps
from holdfast.apply.errors import PlanBlockedError, StalePlanError
from holdfast.apply.steps.kind import Drifted, NotDone
from holdfast.apply.steps.table import kind_of
from holdfast.apply.stores import RehearsalStores
from holdfast.errors import HoldfastError
from holdfast.evidence.collect import collect
from holdfast.evidence.overview import Overview, overview_of
from holdfast.plan.plan_file import Plan
from holdfast.plan.steps import CopyTree, PutFile, RemoveFile
from holdfast.record.layout import HOME
from holdfast.storage.location import parse_location
from holdfast.storage.overlay import OverlayChange, OverlayWriter


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan would change, and what Spark would do then."""

    changes: tuple[tuple[str, OverlayChange], ...]
    """Each with the place that its path is below; without the journal."""
    next_starts: tuple[Overview, ...]
    """Of each checkpoint that files were changed in, what its next start does."""
    not_rehearsed: tuple[str, ...]
    """What only carrying it out can show."""


def rehearse(plan: Plan, stores: RehearsalStores) -> Rehearsal:
    """Carry a plan out on an overlay.

    Raises:
        StalePlanError: The world has moved since the plan was made.
        PlanBlockedError: A sink would refuse a step.
    """
    with stores.in_use():
        return _rehearse(plan, stores)


def _rehearse(plan: Plan, stores: RehearsalStores) -> Rehearsal:
    applying = PlanRun(plan=plan, stores=stores, telling=ProgressCallbacks())
    refuse_unlike_steps(applying)
    moved = list(find_moved(plan, stores))
    skipped: list[str] = []
    for number, step in enumerate(plan.steps, start=1):
        found = applying.look(step)
        if isinstance(found, Drifted):
            moved.append(found.why)
        elif isinstance(found, NotDone):
            skipped += kind_of(step).rehearse(step, applying.work(number))
    if moved:
        raise StalePlanError(plan.id, tuple(dict.fromkeys(moved)))
    obstacles = applying.find_obstacles()
    if obstacles:
        raise PlanBlockedError(plan.id, obstacles)
    next_starts = list(_next_starts(plan, stores))
    return Rehearsal(
        changes=tuple(_changes(plan, stores)),
        next_starts=tuple(each for each in next_starts if isinstance(each, Overview)),
        not_rehearsed=(*skipped, *(each for each in next_starts if isinstance(each, str))),
    )


def _changes(plan: Plan, stores: RehearsalStores) -> list[tuple[str, OverlayChange]]:
    """Return what was changed, in the order of the plan's places."""
    places = dict.fromkeys(str(parse_location(each)) for each in plan.places)
    return [
        (place, change)
        for place in dict.fromkeys((*places, *stores.overlays))
        if isinstance(overlay := stores.overlays.get(place), OverlayWriter)
        for change in overlay.changes()
        if not change.path.startswith("journal/")
    ]


def _next_starts(plan: Plan, stores: RehearsalStores) -> Iterator[Overview | str]:
    """Yield what the next start of each changed checkpoint does, or why that is not known."""
    places = [step.place for step in plan.steps if isinstance(step, PutFile | RemoveFile)]
    copied = {step.target for step in plan.steps if isinstance(step, CopyTree)}
    for place in dict.fromkeys(places):
        if f"/{HOME}/" in place or place in copied:
            continue
        try:
            yield overview_of(collect(stores.at(place)))
        except HoldfastError as error:
            yield f"what the next start from {place} does is not known: {error.why}"
