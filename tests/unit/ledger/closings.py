"""What closes the holes that a changed table or a forged record opens, each with its own switch.

The comparisons are the shipped ones: `find_change` for storage, `take_lease` for epochs,
`check_checkpoint` for generations. What needs a server is repeated here: `look` is
`holdfast.sinks.postgres.look` and `Delta._changed`, `examine` is `holdfast.sinks.postgres.examine`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from holdfast.record.bounds import MAX_EPOCH
from holdfast.record.documents import RecordError
from holdfast.record.generations import OPENED, Generation, check_checkpoint
from holdfast.record.layout import checkpoint_location, lease_path
from holdfast.record.leases import take_lease
from holdfast.record.owner import Owner
from holdfast.sinks.postgres.storage import find_change, table_oid
from holdfast.storage.location import parse_location
from holdfast.storage.memory import MemoryStorage
from tests.unit.ledger.model import Decide, Driver, Row, Sink, row_for

ROOT = parse_location("/srv/streams")
STREAM = "s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Closings:
    """What the protocol does against changes from outside; all of it, unless a test says not."""

    looks_at_target: bool = True
    """Every batch compares the table with the one in the ledger row, inside the sink's step."""
    pins_only_harmless: bool = True
    """A fence takes over a new storage only when it has found all rows there."""
    dates_look: bool = True
    """In Delta, a row does not hide what came between its driver's look and its commit."""
    counts_ever_brought: bool = True
    """A start compares with what all batches brought, not with what the last one did."""
    compares_shape: bool = True
    """Every batch compares the columns with those that its encoders were made for."""
    never_creates: bool = True
    """A batch fails when the table is gone; it does not create it again."""
    caps_epoch: bool = True
    """A lease far above the sink's epoch is refused."""
    confines_generation: bool = True
    """The checkpoint of an opened generation is where root, stream and number put it."""
    finds_by_place: bool = True
    """A ledger row is found by the table that it is of, not by the sink's label."""


ALL = Closings()


@dataclass(frozen=True, slots=True)
class Rules:
    """What drivers go by."""

    decide: Decide
    closings: Closings = ALL


def look(sink: Sink, driver: Driver, closings: Closings) -> str | None:
    """Say why the table must not take a batch; None if nothing forbids it (S3)."""
    table = sink.table
    if not table.oid:
        return "it was dropped" if closings.never_creates or not table.is_delta else None
    if closings.looks_at_target:
        if driver.oid != table.oid:
            return "its name now stands for another table"
        row = row_for(sink, driver)
        if row is not None and (change := _find_change(row.target, table.storage)) is not None:
            return change
    if closings.compares_shape and driver.shape != table.shape:
        return "its columns were given another type"
    return None


def examine(sink: Sink, row: Row, closings: Closings) -> str | None:
    """Say what shows that the table lacks what was brought into it; None if nothing does (G3)."""
    table = sink.table
    brought = row.brought if closings.counts_ever_brought else row.rows
    change = _find_change(row.target, table.storage)
    if table.is_delta:
        return change
    if table.storage is None:
        return change if brought else None
    if change is None:
        return "it is empty" if brought and not sink.content else None
    if table_oid(row.target) in table.aside:
        return "its rows went into another table" if brought else None
    return change if len(sink.content) < brought else None


def pin(sink: Sink, row: Row, closings: Closings) -> Row:
    """Return the row with the storage that the table has now, where that may be written down."""
    table = sink.table
    if table.storage is None or (table.is_delta and closings.dates_look):
        return row
    is_judged = closings.pins_only_harmless and not table.is_delta
    if is_judged and examine(sink, row, closings) is not None:
        return row
    return row._replace(target=table.storage)


@cache
def next_epoch(given: int, forged: int, after: int, *, is_capped: bool) -> int | None:
    """Return the epoch that a start takes; None when it is refused (G2)."""
    if not is_capped:
        epoch = max(given, forged, after) + 1
        return epoch if epoch <= MAX_EPOCH else None
    epochs = [*range(1, given + 1), *([forged] if forged else [])]
    record = MemoryStorage({lease_path(epoch): b"" for epoch in epochs})
    try:
        return take_lease(record, Owner(host="h", pid=1), takeover=True, after=after).epoch
    except RecordError:
        return None


def own_checkpoint(generation: int) -> str:
    """Return where the checkpoint of a generation belongs."""
    return str(checkpoint_location(ROOT, STREAM, generation))


@cache
def is_confined(number: int, checkpoint: str) -> bool:
    """Return whether a start takes a generation with this checkpoint (G1)."""
    generation = Generation(
        number=number,
        checkpoint=checkpoint,
        query_id="0-0-0-0-0",
        first_batch=0,
        why=OPENED,
        opened_at="",
    )
    own = checkpoint_location(ROOT, STREAM, number)
    try:
        check_checkpoint(MemoryStorage(), generation, own)
    except RecordError:
        return False
    return True


_find_change = cache(find_change)
