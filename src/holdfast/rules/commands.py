"""The command that repairs a stream, with the stream's own name and root, as findings print it.

A rule offers a command only where a plan can exist. `holdfast plan` gives a checkpoint back only
from the ledgers of a stream without state, or one entry of a stream whose state is there.
`holdfast backfill` reads a range only for a stream without state. What nothing names, the reader
puts in: the module of a stream and its pipeline, and the output of a plain stream.
"""

from __future__ import annotations

import json
from shlex import quote

from holdfast.checkpoint.commits import CommitEntry
from holdfast.evidence.case import Case
from holdfast.grades import Goal
from holdfast.ids import BatchId
from holdfast.sources.kind import Offset

REWIND = "rewind"
TRUNCATE, KEEP, NEW_TABLE = "truncate", "keep-from-here", "new-table"
EARLIEST, OFFSETS = "earliest", "OFFSETS"
"""As `holdfast backfill` takes them: the oldest record, and what the reader has to put in."""
_MOST_CHARACTERS = 200
_BY_HAND = "reset the stream (docs/guides/reset.md)"
WITHOUT_BACKUP = f" If there is no backup, {_BY_HAND}."
"""What follows a remedy from a backup where no command can be named."""


def plan_command(case: Case, goal: str, *options: str) -> str:
    """Return the command that plans a goal, in backticks.

    Args:
        case: Whose stream or checkpoint it is about.
        goal: The word after `holdfast plan`.
        options: What the goal needs to be named, such as `--to-batch 4`.
    """
    where = quote(str(case.checkpoint.location))
    if case.root is not None:
        where = f"{case.stream_name} --root {quote(case.root)}"
    return f"`{' '.join(('holdfast plan', goal, where, *options, '-o plan.json'))}`"


def reset_advice(case: Case, *, output: str = TRUNCATE) -> str:
    """Return `reset the stream`, with the command."""
    if case.root is None:
        options = ("--from earliest", f"--output {output}", *sink_options(case))
        return f"reset the stream with {plan_command(case, Goal.RESET, *options)}"
    without = _sinks_without_ledger(case)
    if without:
        return (
            f"reset the stream by hand, with an output of its own (no plan can empty the output of "
            f"{', '.join(without)}, which keeps no ledger)"
        )
    options = ("--from earliest", f"--output {output}")
    return f"reset the stream with {plan_command(case, Goal.RESET, *options)}"


def sink_options(case: Case) -> tuple[str, ...]:
    """Return where a plain stream writes, as options; none for a stream with a record."""
    if case.root is not None:
        return ()
    places = dict.fromkeys(str(getattr(each, "location", "")) for each in case.outputs)
    return tuple(f"--sink {quote(each)}" for each in places if each) or ("--sink WHERE",)


def rewind_advice(case: Case) -> str:
    """Return the sentence that goes back by one batch; empty where no earlier one is known."""
    batch = case.newest_committed - 1
    entries = case.checkpoint.offsets, case.checkpoint.commits
    if batch < 0 or not all(BatchId(batch) in each for each in entries):
        return ""
    command = plan_command(case, REWIND, f"--to-batch {batch}", *sink_options(case))
    return f" To go back, run {command}: it is refused if the state of that batch is damaged too."


def _sinks_without_ledger(case: Case) -> list[str]:
    """Return the sinks of the last run whose output no plan can settle: functions."""
    record, query = case.record, case.query
    before = None if query is None else query.before
    contract = before if record is None else record.contract
    if contract is None:
        return []
    return sorted(set(contract.sinks) - {each.label for each in contract.sink_places})


def without_backup(case: Case) -> str:
    """Return the sentence that follows what a backup would repair: a reset, and what it loses."""
    what = "state" if case.is_stateful else "output"
    return f" If there is no backup, {reset_advice(case)}: the {what} is computed again."


def can_rebuild(case: Case) -> bool:
    """Return whether the ledgers can give back what the checkpoint has lost.

    They know the last batch and where it ended, which is all of a query without state. Of a query
    with state they can give back the entry of a committed batch whose state is there.
    """
    if case.root is None or case.stream is None:
        return False
    rows = [each.row for each in case.stream.sinks]
    batches = [row.last_batch for row in rows if row is not None]
    if not batches or len(batches) < len(rows) or max(batches) < 0:
        return False
    # One batch apart is a kill between two sinks; more is not, and no entry could be right for all.
    apart = max(batches) - min(batches)
    return apart <= 1 if not case.is_stateful else apart == 0 and _has_state_of(case, max(batches))


def _has_state_of(case: Case, batch: int) -> bool:
    """Return whether a batch is committed, and what its entry said of state is still known."""
    checkpoint = case.checkpoint
    needed = [checkpoint.commits.get(BatchId(at)) for at in (batch - 1, batch) if at >= 0]
    is_committed = all(isinstance(each, CommitEntry) for each in needed)
    is_known = checkpoint.newest_readable is not None and bool(checkpoint.state)
    return is_committed and is_known and case.newest_committed == batch


def resume_advice(case: Case, *, otherwise: str) -> str:
    """Return how to write again what is missing, from the ledgers or by hand.

    Args:
        case: Whose checkpoint it is.
        otherwise: What to do where the ledgers cannot tell.
    """
    if not can_rebuild(case):
        return otherwise
    command = plan_command(case, Goal.RESUME)
    return f"Run {command}: it writes again what is missing, as the ledgers of the sinks have it."


def backfilling(case: Case, *, start: str = OFFSETS, end: str = OFFSETS, otherwise: str) -> str:
    """Return how to load a range beside the stream: the command, where there can be a backfill.

    Args:
        case: Whose stream it is.
        start: Where the range begins, as `--from` takes it.
        end: Where it ends, as `--to` takes it.
        otherwise: What to do for a bare checkpoint or a query with state.
    """
    if case.root is None or case.is_stateful:
        return otherwise
    words = ("holdfast backfill MODULE:PIPELINE", case.stream_name, "--from", start, "--to", end)
    return f"run `{' '.join(words)}`"


def position_of(offset: object) -> str:
    """Return a position as `--from` and `--to` take it; `OFFSETS` where it would not be read."""
    if not isinstance(offset, Offset) or not offset.parts():
        return OFFSETS
    text = json.dumps(offset.to_json(), separators=(",", ":"))
    return quote(text) if len(text) <= _MOST_CHARACTERS else OFFSETS
