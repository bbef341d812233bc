"""The plain streams that read a Delta table to which an undo gives rows back: they go on after it.

Rows are taken away and come back by commits. A Delta source fails at such a commit, or takes the
rows for new ones. A stream that had read the whole table goes back to its checkpoint, and its
two newest offsets then name the version after those commits. For a stream that had not, there is no
such offset: it must be reset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from holdfast.apply.steps.kind import Undoing, Undone
from holdfast.apply.steps.sources import digest_without_versions
from holdfast.checkpoint.layout import COMMITS, OFFSETS
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.formats.delta_files import read_file_changes
from holdfast.ids import BatchId
from holdfast.judgement.outputs import read_output
from holdfast.ledger.output import RestoreOutput
from holdfast.plan.plan_file import Need
from holdfast.plan.steps import FillTree, MoveSource, Permission, SettleSink, Step
from holdfast.plan.trees import in_phases
from holdfast.sinks.kinds import sink_of
from holdfast.sinks.plain.sink import PlainDelta
from holdfast.sources.delta.kind import DeltaOffset
from holdfast.sources.registry import offsets_of
from holdfast.storage.location import parse_location
from holdfast.storage.read import Reader

_WHY = "Its table was emptied and refilled: Delta would refuse those commits, or repeat the rows."


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table that gets its rows back."""

    step: SettleSink
    reader: Reader
    table_id: str
    version: int
    """That its rows come from: what was there before the plan."""


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """The newest entry of an offset log."""

    parsed: OffsetEntry
    is_committed: bool
    last: Mapping[str, bytes]
    """This entry and the one before it, by path: at a start, Spark reads from one to the other."""


def add_moves(steps: Sequence[Step], undoing: Undoing) -> Undone:
    """Return the steps of an undo, with those that let readers of its tables go on.

    Every checkpoint is held before the first table is changed, and put back after the last one.

    Args:
        steps: What takes the steps of a plan back.
        undoing: The plan that is taken back.
    """
    tables = [found for each in steps for found in _find_table(each, undoing)]
    found: list[Step] = []
    needs: list[Need] = []
    for step in in_phases(steps):
        found.append(step)
        if isinstance(step, FillTree) and step.marker and step.source is not None:
            aside = undoing.stores.at(step.source)
            for table in tables:
                entry = _newest_entry(aside)
                offsets = [] if entry is None else _offsets(entry, table)
                if entry is None or not offsets:
                    continue
                if entry.is_committed and all(_has_read(each, table) for each in offsets):
                    found += _moves(step, entry, table)
                else:
                    needs.append(_left_behind(step, table))
    return Undone(steps=tuple(found), needs=tuple(needs))


def _find_table(step: Step, undoing: Undoing) -> Iterator[_Table]:
    """Yield the Delta table of a plain stream that a step gives rows back to."""
    spec = sink_of(step.sink) if isinstance(step, SettleSink) else None
    if not isinstance(step, SettleSink) or not isinstance(step.output, RestoreOutput):
        return
    if not isinstance(spec, PlainDelta) or not step.output.kept.isdecimal():
        return
    place = str(parse_location(spec.place))
    found = read_output(place, undoing.stores.options)
    if isinstance(found, DeltaOutput) and found.table_id is not None:
        yield _Table(
            step=step,
            reader=undoing.stores.at(place),
            table_id=found.table_id,
            version=int(step.output.kept),
        )


def _newest_entry(checkpoint: Reader) -> _Entry | None:
    """Return the newest entry of the offset log; None when there is none that can be read."""
    newest = {log: max(_numbers(checkpoint, log), default=-1) for log in (OFFSETS, COMMITS)}
    path = f"{OFFSETS}/{newest[OFFSETS]}"
    raw = checkpoint.read(path) if newest[OFFSETS] >= 0 else None
    parsed = None if raw is None else parse_offset_entry(path, BatchId(newest[OFFSETS]), raw)
    if raw is None or not isinstance(parsed, OffsetEntry):
        return None
    before = f"{OFFSETS}/{newest[OFFSETS] - 1}"
    found = {before: checkpoint.read(before), path: raw}
    return _Entry(
        parsed=parsed,
        is_committed=newest[COMMITS] == newest[OFFSETS],
        last={at: content for at, content in found.items() if content is not None},
    )


def _numbers(checkpoint: Reader, log: str) -> Iterator[int]:
    for info in checkpoint.list(log).files:
        name = info.path.rpartition("/")[2]
        if name.isdecimal():
            yield int(name)


def _offsets(entry: _Entry, table: _Table) -> list[DeltaOffset]:
    found = offsets_of(entry.parsed, DeltaOffset).values()
    return [each for each in found if each.table_id == table.table_id]


def _has_read(offset: DeltaOffset, table: _Table) -> bool:
    """Return whether a source had read all rows of a table, as they were before the plan."""
    if offset.index >= 0 or offset.initial_snapshot:
        return False
    for version in range(offset.version, table.version + 1):
        found = read_file_changes(table.reader, version)
        if found is None or found.added or found.removes_data:
            return False
    return True


def _moves(step: FillTree, entry: _Entry, table: _Table) -> Iterator[MoveSource]:
    for path, raw in entry.last.items():
        yield MoveSource(
            stream=step.stream,
            place=step.place,
            path=path,
            sha256=digest_without_versions(raw),
            table_id=table.table_id,
            sink=table.step.sink,
            writer=table.step.stream,
            why=_WHY,
        )


def _left_behind(step: FillTree, table: _Table) -> Need:
    why = (
        f"{step.stream} had not read all of {table.step.sink.label} before the plan. After the "
        "undo, Delta refuses to go on from its checkpoint: reset it then."
    )
    return Need(permission=Permission.BY_HAND, stream=step.stream, why=why)
