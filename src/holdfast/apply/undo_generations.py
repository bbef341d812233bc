"""The undo of a plan that opened a generation: one more is opened, on the checkpoint of before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from holdfast import clock
from holdfast.apply.steps.kind import Undoing
from holdfast.apply.steps.outputs import is_kept
from holdfast.apply.steps.sinks import read_generation
from holdfast.apply.stores import Stores
from holdfast.judgement.case import DiagnoseRequest
from holdfast.ledger.output import KeepOutput
from holdfast.ledger.row import LedgerRow
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.preconditions import LedgerIs
from holdfast.plan.steps import PutFile, RowValue, SettleSink, Step, row_value, says_the_same
from holdfast.plan.trees import copy_tree, list_files
from holdfast.plan.world import look_at_stream
from holdfast.record.batches import JournalledBatch, list_journalled, of_generation
from holdfast.record.contracts import SinkContract
from holdfast.record.documents import encode, read_document
from holdfast.record.generations import UNDONE, Generation
from holdfast.storage.below import SubdirReader


def next_generation(stores: Stores, step: PutFile) -> Generation:
    """Return the generation that goes back to the checkpoint of before a step that opened one."""
    opened = msgspec.json.decode(step.content, type=Generation)
    before = read_generation(stores, step.place, opened.number - 1)
    return msgspec.structs.replace(
        before,
        number=opened.number + 1,
        why=UNDONE,
        was=before.made_as,
        opened_at=clock.now().isoformat(timespec="seconds"),
    )


def copy_materialised(
    undoing: Undoing, step: PutFile, *, generation: int, why: str
) -> Iterator[Step]:
    """Yield the copies of batches that one sink may hold and another one lack.

    A generation reads its own only. So the one that goes back to a checkpoint gets those of the
    generation that had it.

    Args:
        undoing: The plan that is taken back.
        step: Which opened the generation that is left.
        generation: That is opened instead.
        why: Why the steps are there.
    """
    record = undoing.stores.at(step.place)
    opened = msgspec.json.decode(step.content, type=Generation)
    for path in list_journalled(record, opened.number - 1, first=0):
        found = read_document(record, path, JournalledBatch)
        if found is None:
            continue
        again = of_generation(found, generation)
        rows = list_files(SubdirReader(record, found.rows))
        source, target = (str(record.location.join(each.rows)) for each in (found, again))
        yield copy_tree(step.stream, source, target, files=rows, why=why)
        yield PutFile(
            stream=step.stream,
            place=step.place,
            path=again.path,
            content=encode(again).decode(),
            why=why,
        )


def find_sinks_now(plan: Plan, streams: Iterable[str], stores: Stores) -> Iterator[LedgerIs]:
    """Yield the sinks that streams have now: what takes an undo back goes back to them."""
    for stream in streams:
        looks = DiagnoseRequest(location=stream, root=plan.root, options=stores.options)
        for sink in look_at_stream(looks).sinks:
            if sink.row is not None:
                row = row_value(sink.row)
                yield LedgerIs(stream=stream, sink=sink.contract, row=row, table=None)


def is_of_plan(undoing: Undoing, step: SettleSink) -> bool:
    """Return whether a sink is still in the generation and checkpoint that the plan gave it."""
    return _is_at(undoing, step, step.new)


def is_before_plan(undoing: Undoing, step: SettleSink) -> bool:
    """Return whether a sink is still in the generation and checkpoint of before the plan.

    The step was not carried out then, whatever batches have come since.
    """
    is_other = step.old is None or _life(step.old) != _life(step.new)
    return is_other and step.old is not None and _is_at(undoing, step, step.old)


def _is_at(undoing: Undoing, step: SettleSink, row: RowValue) -> bool:
    found = _read(undoing, step.stream, step.sink)
    return found is not None and _life(row_value(found)) == _life(row)


def is_rewritten(undoing: Undoing, step: SettleSink) -> bool:
    """Return whether taking a step back replaces the rows of a table that keeps versions."""
    found = _read(undoing, step.stream, step.sink)
    has_run = found is not None and not says_the_same(row_value(found), step.new)
    ledger = undoing.stores.ledger(step.sink, writes=False)
    return ledger.keeps_versions and not is_kept(step, has_run=has_run)


def rebind(
    undoing: Undoing, stream: str, opened: Generation, *, settled: Iterable[Step], why: str
) -> tuple[SettleSink, ...] | NoPlan:
    """Return the steps that bring sinks which the plan has not changed to a generation.

    They hold the rows of the checkpoint that is gone back to; their ledger rows must say so.

    Args:
        undoing: The plan that is taken back.
        stream: Whose generation is opened.
        opened: The generation.
        settled: The steps that the plan has carried out.
        why: Why the steps are there.
    """
    changed = [each.sink for each in settled if isinstance(each, SettleSink)]
    found: list[SettleSink] = []
    for sink, before in _rows_before(undoing.plan, stream):
        row = None if sink in changed else _read(undoing, stream, sink)
        if row is None:
            continue
        if _life(row_value(row)) != _life(before):
            return NoPlan(
                reason=f"Plan {undoing.plan.id} cannot be taken back: the ledger row of {stream} "
                f"in {sink.label} was changed by something else."
            )
        # As it is: a driver that was paused may have brought one more batch meanwhile.
        new = msgspec.structs.replace(row_value(row), generation=opened.number)
        found.append(
            SettleSink(
                stream=stream,
                sink=sink,
                old=row_value(row),
                new=new,
                output=KeepOutput(),
                why=why,
            )
        )
    return tuple(found)


def _rows_before(plan: Plan, stream: str) -> list[tuple[SinkContract, RowValue]]:
    """Return the sinks of a stream, each with the row that it had before the plan."""
    held = (each for each in plan.preconditions if isinstance(each, LedgerIs))
    settled = (each for each in plan.steps if isinstance(each, SettleSink))
    seen = [(each.sink, each.row) for each in held if each.stream == stream]
    seen += [(each.sink, each.old) for each in settled if each.stream == stream]
    found: list[tuple[SinkContract, RowValue]] = []
    for sink, row in seen:
        if row is not None and sink not in [known for known, _ in found]:
            found.append((sink, row))
    return found


def _read(undoing: Undoing, stream: str, sink: SinkContract) -> LedgerRow | None:
    found = undoing.stores.ledger(sink, writes=False).read(stream)
    return found if isinstance(found, LedgerRow) else None


def _life(row: RowValue) -> tuple[int, str]:
    """Return the generation and the checkpoint that a row is of."""
    return row.generation, row.checkpoint
