"""A model of the whole protocol, small enough to be explored to its end.

The world: a source of units and of moments at which a stateful query emits rows without reading any
(no-data batches), checkpoints, one sink with its ledger row, and drivers that can be stopped
between any two steps. Each step of a driver is atomic; between two steps anybody else can act,
which is what a pause is. The sink decides with the shipped `decide`.

    G1 resolve the generation · G2 take the lease · G5 fence · plan (`offsets/N`) · S2 to S6 the
    sink's step · `commits/N`

Wrong is: output that is not what was sent, in order and once; a write by a driver that was fenced,
or that does not know the current generation; and, when nobody has tampered with anything, a query
that cannot be finished by simply starting it again.
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
    """What one entry of `offsets` covers; a no-data batch is empty and has a number from 1 on."""

    start: int
    end: int
    eviction: int = 0

    def content(self, *, trades: bool = False) -> tuple[str, ...]:
        """Return what it writes; the same offsets can mean other data when a log was rewritten."""
        order = OTHER_ORDER[:2] if trades else EVENTS[:2]
        units = (*order, "u2")[self.start : self.end]
        return units or (f"E{self.eviction}",)


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


class Sink(NamedTuple):
    """The sink: data and ledger, changed together."""

    content: tuple[str, ...]
    row: Row | None
    before: tuple[tuple[tuple[str, ...], Row | None], ...] = ()
    """Earlier states, which a backup can bring back."""


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
    resetting: bool
    """Whether a generation was opened whose output is not settled yet."""
    sink: Sink
    drivers: tuple[Driver | None, ...]
    budget: Budget
    tampered: bool = False


Decide = Callable[[Row | None, Driver], Decision]


def begin(budget: Budget, *, drivers: int = 2) -> World:
    """Return a stream that was opened and never started."""
    row = Row(generation=1, epoch=0, query=1, location=0, last=-1, digest=None, end=0)
    return World(
        checkpoints=(Checkpoint(query=1, source=0),),
        generation=1,
        location=0,
        epochs=0,
        fenced=0,
        settled=1,
        resetting=False,
        sink=Sink(content=(), row=row),
        drivers=(None,) * drivers,
        budget=budget,
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


def next_batches(entries: tuple[Batch, ...]) -> Iterator[Batch]:
    """Give what Spark may plan after these: one unit or two, or an eviction that is due."""
    at = entries[-1].end if entries else 0
    done = sum(1 for each in entries if each.eviction)
    if at == EVICTS_AT and done < EVICTIONS:
        yield Batch(at, at, done + 1)
        return
    limit = EVICTS_AT if at < EVICTS_AT else UNITS
    yield from (Batch(at, end) for end in range(at + 1, limit + 1))


def apply(sink: Sink, driver: Driver) -> Sink:
    """Write a batch and advance the ledger, in one step."""
    assert driver.planned is not None
    row = sink.row or Row(
        driver.generation, driver.epoch, driver.query, driver.location, -1, None, 0
    )
    after = row._replace(last=driver.batch, digest=driver.digest, end=driver.planned.end)
    before = (*sink.before, (sink.content, sink.row))[-2:]
    return Sink(content=sink.content + driver.content, row=after, before=before)


def is_right(content: tuple[str, ...]) -> bool:
    """Return whether output is what was sent so far, in order and once."""
    return content in (EVENTS[: len(content)], OTHER_ORDER[: len(content)])
