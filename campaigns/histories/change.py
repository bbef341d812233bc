"""What a plan does to the account: forward when it is applied, and back when it is taken back."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from campaigns.histories.model import Expected, StreamAccount, TableAccount, before_files, of_before
from holdfast.plan.requests import Request

LEAVES_ALONE = ("snapshot", "clone", "prune")
"""Goals that do not change what a stream is: neither does their undo."""
APPLIED, PENDING, UNDONE, REFUSED = "applied", "pending", "undone", "refused"


@dataclass
class Effect:
    """What happens to the rows of one table."""

    kind: str
    """`stay`, `keep`, `empty`, `drop` the rows of files, or `back` to what they were.

    Rows that a reset keeps are of an earlier generation: what comes later does not drop them.
    """
    files: frozenset[str] = frozenset()
    """Of `drop`: those that are dropped. Of `keep`: those that go on to count."""
    may_stay: bool = False
    """Of `drop`: whether the rows can also stay, because the same ones are merged again."""
    own: list[Expected] = field(default_factory=list)
    """Of `back`: the stream's rows as they were."""
    returned: list[Expected] = field(default_factory=list)
    """Of `back`: rows of others that the plan had taken away."""
    whole: list[Expected] | None = None
    """Of `back`, where it was allowed to take rows of others away: all rows as they were."""


@dataclass
class Change:
    """One plan that was begun, and what the account was before it."""

    journal: str
    goal: str
    before: StreamAccount
    after: StreamAccount
    effects: dict[str, Effect]
    """By table."""
    undoes: Change | None = None
    state: str = PENDING
    done: dict[str, bool] = field(default_factory=dict)
    """Of each table, whether its effect has happened."""
    own_before: dict[str, list[Expected]] = field(default_factory=dict)
    taken: dict[str, list[Expected]] = field(default_factory=dict)
    """Of each table, the rows of others that were taken away."""
    rows_before: dict[str, list[Expected]] = field(default_factory=dict)
    state_before: str = ""
    """Of an undo: how the plan stood that it has taken back."""
    done_before: dict[str, bool] = field(default_factory=dict)
    was_tampered: bool = False
    """Whether something had been done by hand before it: its undo goes back to that."""
    may_take_others: bool = False
    """Whether an undo has said that it takes rows away, and was allowed to."""

    @property
    def leaves_alone(self) -> bool:
        """Whether it does not change what the stream is."""
        if self.undoes is not None:
            return self.undoes.leaves_alone
        return self.goal in LEAVES_ALONE

    def rows_after(self, table: TableAccount) -> list[Expected]:
        """Return the rows of a table once the plan has changed it."""
        effect, stream = self.effects[table.name], self.before.name
        match effect.kind:
            case "empty":
                return []
            case "drop":
                kept = (
                    row if row.writer != stream else before_files(row, effect.files)
                    for row in table.rows
                )
                return [row for row in kept if row is not None]
            case "keep":
                return [
                    row if row.writer != stream else of_before(row, effect.files)
                    for row in table.rows
                ]
            case "back" if effect.whole is not None:
                return effect.whole
            case "back":
                return [*effect.own, *table.without(stream), *effect.returned]
            case _:
                return table.rows

    def carry_out(self, table: TableAccount) -> None:
        """Account for a table that the plan has changed."""
        if self.done.get(table.name):
            return
        stream = self.before.name
        self.own_before[table.name] = copy.deepcopy(table.of(stream))
        self.rows_before[table.name] = copy.deepcopy(table.rows)
        after = self.rows_after(table)
        there = {row.id for row in after}
        self.taken[table.name] = [row for row in table.without(stream) if row.id not in there]
        table.rows = list(after)
        self.done[table.name] = True

    def forget_row(self, table: str, row_id: str) -> None:
        """Account for a row that another program has deleted: nothing must bring it back."""
        for kept in (self.own_before, self.rows_before):
            if table in kept:
                kept[table] = [row for row in kept[table] if row.id != row_id]
        if table in self.effects:
            effect = self.effects[table]
            effect.own = [row for row in effect.own if row.id != row_id]

    def taking_back(self, journal: str, now: StreamAccount) -> Change:
        """Return the change that takes this one back."""
        effects = {}
        for name in self.effects:
            if not self.done.get(name):
                effects[name] = Effect("stay")
            else:
                effects[name] = Effect(
                    "back",
                    own=copy.deepcopy(self.own_before[name]),
                    returned=copy.deepcopy(self.taken[name]),
                )
        after = (now if self.leaves_alone else self.before).copied()
        after.moves = now.moves + 1
        return Change(
            journal=journal,
            goal="undo",
            before=now.copied(),
            after=after,
            effects=effects,
            undoes=self,
        )


def foresee(request: Request, journal: str, stream: StreamAccount) -> Change:
    """Return what a goal must do to a stream, by what was asked for."""
    after = stream.copied()
    after.moves += 1
    effects = {sink.known: Effect("stay") for sink in stream.sinks}
    match request.goal:
        case "reset":
            _reset(request, after, effects)
        case "replay":
            first = max(stream.batches, default=0) - request.batches + 1
            _go_back(first - 1, after, effects, output=request.output)
        case "rewind":
            _go_back(request.batch or 0, after, effects, output=request.output)
        case "restore":
            kept = stream.snapshots.get(request.target, {})
            after.batches = dict(kept)
            _go_back(max(kept, default=-1), after, effects, output="restore")
        case "snapshot":
            after.snapshots[request.target] = dict(stream.batches)
        case "move":
            after.root = request.target
        case "retire":
            after.is_retired = True
        case _:
            pass
    return Change(
        journal=journal, goal=request.goal, before=stream.copied(), after=after, effects=effects
    )


def _reset(request: Request, after: StreamAccount, effects: dict[str, Effect]) -> None:
    counted = [sink.counted for sink in after.sinks]
    everywhere = set.intersection(*counted) if counted else set()
    kept = everywhere if request.start == "here" else set()
    for sink in after.sinks:
        choice = request.outputs.get(f"{after.name}/{sink.known}", request.output)
        if choice == "truncate":
            effects[sink.known] = Effect("empty")
        elif choice == "keep-from-here":
            effects[sink.known] = Effect("keep", files=frozenset(kept))
        sink.table = f"{sink.known}n{after.moves}" if choice == "new-table" else sink.known
        sink.counted = set(kept)
    after.batches = {0: tuple(kept)} if kept else {}
    after.values = {file: value for file, value in after.values.items() if file in kept}


def _go_back(batch: int, after: StreamAccount, effects: dict[str, Effect], *, output: str) -> None:
    dropped = frozenset(after.go_back(batch))
    for sink in after.sinks:
        goes_back = sink.sequenced and sink.keeps_versions
        if output == "restore" and (not sink.by_key or goes_back):
            effects[sink.known] = Effect("drop", files=dropped, may_stay=sink.by_key)
