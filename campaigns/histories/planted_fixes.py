"""Every fix of a hole that was found in repairs, taken out again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from campaigns.histories.plant import Plant, all_patched, none, nothing, patched
from holdfast.apply.steps.kind import Undone
from holdfast.formats.delta_log import Commit
from holdfast.ledger.output import ExchangeOutput, KeepOutput, Output, RestoreOutput
from holdfast.ledger.row import LedgerRow
from holdfast.plan.steps import SettleSink
from holdfast.record.runs import newest_run
from holdfast.sinks.postgres.put_back import Fit


def _take_all(find: Any) -> Any:
    """Return an undo that takes every row away, whoever wrote it, before it puts rows back."""

    def find_all(self: Any, since: Any, *, opens: bool) -> Output | str:
        found: Output | str = find(self, since, opens=opens)
        if isinstance(found, ExchangeOutput) and found.kept is not None:
            return RestoreOutput(kept=found.kept, aside=found.aside)
        return found

    return find_all


def _keeps(step: SettleSink, *, has_run: bool) -> bool:
    del has_run
    return isinstance(step.output, KeepOutput)


@contextmanager
def _with_triggers(*_: Any) -> Iterator[None]:
    yield


def _all_columns(fit: Any) -> Any:
    """Return what puts rows back by the columns that the table has now, the new ones too."""

    def fit_all(connection: Any, table: Any, kept: str) -> Fit:
        found: Fit = fit(connection, table, kept)
        return Fit(columns=(*found.columns, *found.added))

    return fit_all


def _newest_of_batch(rows: Iterable[tuple[Commit, LedgerRow]]) -> dict[int, str]:
    """Return the newest version that carries each batch, whatever else it holds."""
    seen = list(rows)
    current = [each for each in seen if each[1].generation == seen[0][1].generation]
    return {row.last_batch: str(commit.version) for commit, row in reversed(current)}


def _find() -> Any:
    from holdfast.apply.steps.outputs import SinkGoingBack  # noqa: PLC0415 - not yet patched

    return SinkGoingBack.find


def _fit() -> Any:
    from holdfast.sinks.postgres.put_back import fit  # noqa: PLC0415 - not yet patched

    return fit


_KEPT = (
    "apply.steps.outputs.is_kept",
    "apply.steps.sinks.is_kept",
    "apply.undo_generations.is_kept",
)
_TRIGGERS = ("sinks.postgres.put_back.triggers_off", "sinks.postgres.settle.triggers_off")
_FITS = ("sinks.postgres.put_back.fit", "sinks.postgres.obstacles.fit")
_CONFINED = ("apply.apply.refuse_unlike_steps", "apply.rehearse.refuse_unlike_steps")

FIXES = (
    Plant(
        "an undo takes rows of others away",
        "01",
        patched("apply.steps.outputs.SinkGoingBack.find", _take_all(_find())),
    ),
    Plant(
        "an undo leaves rows that came since",
        "02",
        all_patched(*(patched(each, _keeps) for each in _KEPT)),
    ),
    Plant(
        "a replay writes what was materialised before",
        "03",
        patched("plan.goals.replay.forget_materialised"),
        ("memory",),
    ),
    Plant(
        "rows come back through triggers",
        "05",
        all_patched(*(patched(each, _with_triggers) for each in _TRIGGERS)),
        ("postgres",),
    ),
    Plant(
        "several batches are replayed by key without an order",
        "09",
        patched("plan.goals.replay._refuse_as_one", none),
    ),
    Plant(
        "an undo leaves sinks alone that a plan did not come to",
        "14",
        patched("apply.undo.rebind"),
    ),
    Plant(
        "a sink is not asked whether it would refuse its step",
        "14, 16",
        patched("apply.applying.PlanRun.find_obstacles"),
    ),
    Plant(
        "a resume sets no digest",
        "15",
        patched("plan.goals.rebuild._settle"),
    ),
    Plant(
        "rows come back by the columns of now",
        "16",
        all_patched(*(patched(each, _all_columns(_fit())) for each in _FITS)),
        ("postgres",),
    ),
    Plant(
        "a plan touches what it likes",
        "17",
        all_patched(*(patched(each, none) for each in _CONFINED)),
    ),
    Plant(
        "files of an older version are not looked for",
        "18",
        patched("sinks.delta.settle.find_missing_file", none),
        ("memory",),
    ),
    Plant(
        "commits of other writers are not looked for",
        "a stranger's rows",
        patched("sinks.delta.settle.find_other_writers"),
        ("memory",),
    ),
    Plant(
        "sinks are not fenced before the first step",
        "a paused driver",
        patched("apply.apply.fence_sinks"),
    ),
    Plant(
        "an undo of an undo copies nothing again",
        "an undone copy",
        patched("apply.steps.trees._copy_again", lambda *_: Undone()),
    ),
    Plant(
        "an undo takes back a plan behind a later one",
        "order of undos",
        patched("apply.undo.refuse_overtaken", none),
    ),
    Plant(
        "an undo of half a plan is taken back",
        "half plans",
        patched("apply.undo.refuse_half", none),
    ),
    Plant(
        "after an undo, plans know the sinks of the last run",
        "a new table",
        patched("evidence.guard_record.last_run_of", lambda reader, _: newest_run(reader)),
    ),
    Plant(
        "entries that a reset wrote are replayed",
        "seeded entries",
        patched("plan.goals.replay._seeded", lambda _: 0),
    ),
    Plant(
        "a rewind takes rows of another generation",
        "an old table",
        patched("plan.goals.rewind.newest_rows", nothing),
    ),
    Plant(
        "an undo leaves materialised rows behind",
        "rows of a batch that one sink lacks",
        patched("apply.undo.copy_materialised"),
        ("memory",),
    ),
    Plant(
        "a sink that a reset leaves alone is not fenced",
        "a paused driver",
        patched("apply.fencing._left_alone"),
    ),
    Plant(
        "a rewind takes any version that carries a batch",
        "a replay that kept rows",
        patched("sinks.delta.ledger.find_batch_versions", _newest_of_batch),
        ("memory",),
    ),
    Plant(
        "a reset that a sink blocks names no other way",
        "a foreign key",
        patched("plan.blocked._another_way", lambda *_: ""),
        ("memory",),
    ),
)
