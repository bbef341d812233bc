"""A model of the whole protocol, small enough to be explored to its end.

The world: a source of units and of moments at which a stateful query emits rows without reading any
(no-data batches), checkpoints, one sink with its ledger row, and drivers that can be stopped
between any two steps. Each step of a driver is atomic; between two steps anybody else can act,
which is what a pause is. The sink decides with the shipped `decide`.

    G1 resolve the generation and the table · G2 take the lease · G3 examine the table · G5 fence,
    and examine again · plan (`offsets/N`) · S2 to S6 the sink's step · `commits/N`

In PostgreSQL the sink's step is one transaction. In Delta it is two: the driver reads the log, and
commits later; the ledger row is in the table's own log, and is lost with the table.

Wrong is: output that is not what was sent, in order and once; a write by a driver that was fenced,
or that does not know the current generation; a start that finds nothing wrong with a table that
lacks rows; a write into another table, or of values in another type; and, when nobody has tampered
with the data, a query that cannot be finished by simply starting it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from holdfast.ids import BatchId, QueryId
from holdfast.ledger import Attempt, Binding, Decision, LedgerRow

EVENTS = ("u0", "u1", "E1", "E2", "u2")
"""What the sink must hold in the end: units, and what is emitted when two units have been read."""
OTHER_ORDER = ("u1", "u0", "E1", "E2", "u2")
"""The same when the source's own log was rewritten, so that the first two trade places."""
EVICTS_AT = 2
EVICTIONS = 2
UNITS = 3


class Batch(NamedTuple):
    """What one entry of `offsets` covers.

    A no-data batch has a number from 1 on; with number 0 it emits no rows either.
    """

    start: int
    end: int
    eviction: int = 0

    def content(self, *, trades: bool = False) -> tuple[str, ...]:
        """Return what it writes; the same offsets can mean other data when a log was rewritten."""
        order = OTHER_ORDER[:2] if trades else EVENTS[:2]
        units = (*order, "u2")[self.start : self.end]
        return units or ((f"E{self.eviction}",) if self.eviction else ())


class Checkpoint(NamedTuple):
    """A checkpoint at one location."""

    query: int
    source: int
    """0 is the source of this stream; another query's checkpoint reads another."""
    entries: tuple[Batch, ...] = ()
    commits: int = 0
    trades: bool = False
    """Whether the first two units trade places in the source's log."""


class Row(NamedTuple):
    """The ledger row."""

    generation: int
    epoch: int
    query: int
    location: int
    last: int
    digest: str | None
    end: int
    target: str = ""
    """Storage of the table that the batches went into."""
    brought: int = 0
    """Rows that all batches have brought since the row was made."""
    rows: int = 0
    """Rows that the last batch brought."""


class Table(NamedTuple):
    """What a table is, apart from its rows."""

    oid: int = 1
    """0 when it was dropped."""
    file: int = 1
    shape: int = 0
    """Stands for the types of its columns."""
    made: int = 1
    """Oids and files that were given out."""
    aside: tuple[int, ...] = ()
    """Tables that had the name before, and are there under another."""
    is_delta: bool = False

    @property
    def storage(self) -> str | None:
        """As the ledger row keeps it; None when there is no table."""
        return f"{self.oid}/{self.file}" if self.oid else None


class Sink(NamedTuple):
    """The sink: data and ledger, changed together."""

    content: tuple[str, ...]
    row: Row | None
    before: tuple[tuple[tuple[str, ...], Row | None], ...] = ()
    """Earlier states, which a backup can bring back."""
    sent: tuple[str, ...] = ()
    """What the content must be, by all that the sink was asked to write."""
    table: Table = Table()
    added: Row | None = None
    """A second row: of the same table under another label."""


class Driver(NamedTuple):
    """A driver, and how far it has come."""

    step: str
    generation: int
    location: int
    epoch: int = 0
    batch: int = -1
    """Number of the batch it is at; -1 before it has looked into the checkpoint."""
    planned: Batch | None = None
    query: int = 0
    source: int = 0
    trades: bool = False
    oid: int = 0
    """Of the table that it was made for."""
    shape: int = 0
    """Of that table: its encoders write values of these types."""
    is_relabelled: bool = False
    """Whether its code gives the sink another label."""
    is_opening: bool = False
    """Whether it found no ledger row, and will make it."""
    looked: Row | None = None
    """In Delta: the row that it has decided by, and not committed yet."""

    @property
    def content(self) -> tuple[str, ...]:
        """What its batch writes."""
        assert self.planned is not None
        content = self.planned.content(trades=self.trades)
        return tuple(f"foreign {each}" for each in content) if self.source else content

    @property
    def digest(self) -> str:
        """Of what its batch covers: the offsets, and what they mean."""
        assert self.planned is not None
        return f"{self.planned} {self.planned.content(trades=self.trades)}"


class Budget(NamedTuple):
    """What may still go wrong."""

    starts: int
    crashes: int
    lost_answers: int
    resets: int
    rewinds: int
    tampering: int
    changes: int = 0
    """Of the table."""
    of_kind: str = ""
    """Words of the only changes that are made; all when empty."""
    forgeries: int = 0
    """In the record."""
    relabels: int = 0
    """Of the sink, in the code."""


class Forged(NamedTuple):
    """What was put into the record by hand."""

    lease: int = 0
    """An epoch; 0 when there is none."""
    generation: int = 0
    location: int = -1
    checkpoint: str = ""
    """As the forged generation names it."""


class World(NamedTuple):
    """Everything there is."""

    checkpoints: tuple[Checkpoint, ...]
    """By location; a reset opens the next."""
    generation: int
    location: int
    epochs: int
    """Epochs given out."""
    fenced: int
    """Highest epoch that has fenced the sink."""
    settled: int
    """The generation that the output is of."""
    reset_advice: bool
    """Whether a generation was opened whose output is not settled yet."""
    sink: Sink
    drivers: tuple[Driver | None, ...]
    budget: Budget
    tampered: bool = False
    """Whether data was lost or replaced, so that every start may be refused."""
    forged: Forged = Forged()
    has_quiet_batch: bool = False
    """Whether one no-data batch emits no rows."""
    is_relabelled: bool = False


Decide = Callable[[Row | None, Driver], Decision]


def begin(
    budget: Budget,
    *,
    drivers: int = 2,
    epochs: int = 0,
    is_delta: bool = False,
    has_row: bool = True,
    has_quiet_batch: bool = False,
) -> World:
    """Return a stream that was opened and has written nothing.

    Args:
        budget: What may go wrong.
        drivers: How many there can be at a time.
        epochs: How many starts there were before.
        is_delta: Whether the sink is a Delta table.
        has_row: Whether one of those starts has opened the ledger row.
        has_quiet_batch: Whether one batch of the stream has no rows.
    """
    table = Table(is_delta=is_delta)
    row = Row(generation=1, epoch=epochs, query=1, location=0, last=-1, digest=None, end=0)
    row = row._replace(target=table.storage or "")
    return World(
        checkpoints=(Checkpoint(query=1, source=0),),
        generation=1,
        location=0,
        epochs=epochs,
        fenced=0,
        settled=1,
        reset_advice=False,
        sink=Sink(content=(), row=row if has_row else None, table=table),
        drivers=(None,) * drivers,
        budget=budget,
        has_quiet_batch=has_quiet_batch,
    )


def as_ledger_row(row: Row) -> LedgerRow:
    """Return the row as the shipped code knows it."""
    return LedgerRow(
        stream="s",
        sink="t",
        generation=row.generation,
        epoch=row.epoch,
        nonce=f"n{row.epoch}",
        binding=_binding(row.query, row.location),
        last_batch=BatchId(row.last),
        digest=row.digest,
        end_offsets=str(row.end),
    )


def as_attempt(driver: Driver) -> Attempt:
    """Return what a driver brings to the sink as the shipped code knows it."""
    assert driver.planned is not None
    return Attempt(
        stream="s",
        sink="t",
        generation=driver.generation,
        epoch=driver.epoch,
        nonce=f"n{driver.epoch}",
        binding=_binding(driver.query, driver.location),
        batch_id=BatchId(driver.batch),
        digest=driver.digest,
        start_offsets=str(driver.planned.start),
        end_offsets=str(driver.planned.end),
    )


def _binding(query: int, location: int) -> Binding:
    return Binding(query_id=QueryId(f"q{query}"), checkpoint=f"l{location}")


def next_batches(entries: tuple[Batch, ...], *, has_quiet: bool = False) -> Iterator[Batch]:
    """Give what Spark may plan after these: one unit or two, or an eviction that is due."""
    at = entries[-1].end if entries else 0
    done = sum(1 for each in entries if each.eviction)
    quiet = Batch(at, at)
    if at == EVICTS_AT and not done and has_quiet and quiet not in entries:
        yield quiet
        return
    if at == EVICTS_AT and done < EVICTIONS:
        yield Batch(at, at, done + 1)
        return
    limit = EVICTS_AT if at < EVICTS_AT else UNITS
    yield from (Batch(at, end) for end in range(at + 1, limit + 1))


def row_for(sink: Sink, driver: Driver) -> Row | None:
    """Return the ledger row that a driver reads."""
    return sink.added if sink.added is not None and driver.is_relabelled else sink.row


def put_row(sink: Sink, driver: Driver, row: Row | None) -> Sink:
    """Change the ledger row that a driver reads."""
    if sink.added is not None and driver.is_relabelled:
        return sink._replace(added=row)
    return sink._replace(row=row)


def apply(sink: Sink, driver: Driver) -> Sink:
    """Write a batch and advance the ledger, in one step."""
    assert driver.planned is not None
    row = driver.looked or row_for(sink, driver) or fresh_row(sink, driver)
    count = len(driver.content)
    after = row._replace(
        last=driver.batch,
        digest=driver.digest,
        end=driver.planned.end,
        brought=row.brought + count,
        rows=count,
    )
    before = (*sink.before, (sink.content, sink.row))[-2:]
    there = sink._replace(
        content=sink.content + driver.content, sent=sink.sent + driver.content, before=before
    )
    return put_row(there, driver, after)


def fresh_row(sink: Sink, driver: Driver) -> Row:
    """Return a row of a driver that says that nothing has arrived."""
    return Row(
        generation=driver.generation,
        epoch=driver.epoch,
        query=driver.query,
        location=driver.location,
        last=-1,
        digest=None,
        end=0,
        target=sink.table.storage or "",
    )


def is_right(content: tuple[str, ...]) -> bool:
    """Return whether output is what was sent so far, in order and once."""
    return content in (EVENTS[: len(content)], OTHER_ORDER[: len(content)])
