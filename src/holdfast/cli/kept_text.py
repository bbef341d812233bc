"""What a plan leaves behind so that it can be undone, and how to remove that later.

Nothing of it is removed by itself: without a word about it, copies of tables and checkpoints of
old generations pile up.
"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from holdfast.ledger.output import EmptyOutput, ExchangeOutput, RestoreOutput, is_copy
from holdfast.plan.plan_file import Plan
from holdfast.plan.steps import PutFile, SettleSink, is_generation
from holdfast.sinks.kinds import kind_of

KEPT_DAYS = 30
"""In the printed command: long enough for most backups to hold what came after."""
_LEAVE_CHECKPOINTS = frozenset({"reset", "rewind", "replay", "restore", "migrate"})
"""Goals that open a generation beside the checkpoint of before."""


def kept_lines(plan: Plan) -> Iterator[str]:
    """Yield what to say of what a plan has kept: tables first, then checkpoints."""
    for copy, what, how in _copies(plan):
        yield (
            f"Kept: {copy} has {what}. An undo needs it. To remove it when you no longer want to "
            f"undo: {how}"
        )
    for stream in _left_checkpoints(plan):
        command = f"holdfast plan prune {stream} --root {quote(plan.root)}"
        yield (
            f"Kept: the old checkpoint of {stream}. To delete it when it is {KEPT_DAYS} days old: "
            f"{command} --older-than {KEPT_DAYS} -o prune.json"
        )


def _copies(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Yield each copy of rows, what is in it, and how it is removed.

    Delta needs none: its log has the version, until VACUUM removes it.
    """
    for step in plan.steps:
        kind = kind_of(step.sink) if isinstance(step, SettleSink) else None
        if kind is None or not kind.drop_copy or not isinstance(step, SettleSink):
            continue
        for copy, what in _kept_by(step):
            yield copy, what, kind.drop_copy.format(copy=copy)


def _kept_by(step: SettleSink) -> Iterator[tuple[str, str]]:
    label = step.sink.label
    match step.output:
        case EmptyOutput(kept=kept):
            yield kept, f"the rows that were taken out of {label}"
        case RestoreOutput(kept=kept, aside=aside) | ExchangeOutput(kept=kept, aside=aside):
            yield aside, f"the rows that were taken out of {label}"
            if kept is not None and is_copy(kept):
                yield kept, f"a copy of the rows that are in {label} again"
        case _:
            pass


def _left_checkpoints(plan: Plan) -> list[str]:
    """Return the streams that go on in a new checkpoint."""
    if plan.goal not in _LEAVE_CHECKPOINTS:
        return []
    opened = (step for step in plan.steps if isinstance(step, PutFile) and is_generation(step))
    return list(dict.fromkeys(step.stream for step in opened))
