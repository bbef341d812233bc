"""A driver without Spark: it takes the lease, fences the sink and brings batches, by the real code.

    python racer.py DSN [--lease-clock wall]

A line on stdin is a race, as JSON, or lets a waiting batch go on. A line on stdout is something
that happened, with its time on the machine's one monotonic clock and on this process's own of the
day. With `--lease-clock wall` the lease is waited for by that: a planted fault.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, cast

import msgspec
import psycopg
import pyarrow as pa

from holdfast import clock, points
from holdfast.errors import HoldfastError
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.decide import Refuse
from holdfast.ledger.row import Attempt, Binding, LedgerRow
from holdfast.record import release, take_lease, this_process
from holdfast.record.leases import Lease, renew
from holdfast.sinks import collect
from holdfast.sinks.postgres import large
from holdfast.sinks.postgres.ledger import PostgresLedgerStore
from holdfast.sinks.postgres.sink import Postgres
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.writer import Found, PostgresWriter
from holdfast.storage.write import Writer, open_writer

BATCHES, ROWS = 6, 20
TABLE = "readings"
SCHEMA = pa.schema([("race", pa.int64()), ("id", pa.int64())])
WAITING, TAKEN, FENCED, GIVEN_UP = "waiting", "taken", "fenced", "given up"
HALTS, STANDS, READY, ENDED = "halts", "stands", "ready", "ended"
"""What it tells: of the lease, and of itself."""


class Race(msgspec.Struct, frozen=True, kw_only=True):
    """What a racer is told about a race."""

    number: int
    location: str
    """Of the stream's record."""
    options: dict[str, str] = {}
    term_s: float
    brings: int = BATCHES
    """So many batches at most, before it gives the lease up."""
    halts_at: str | None = None
    """Where the whole process stands still until it is continued."""
    waits_at: str | None = None
    """Where the batch waits for a line, and the lease is renewed meanwhile."""

    @property
    def stream(self) -> str:
        """Its stream in the ledger."""
        return f"race-{self.number}"

    @property
    def binding(self) -> Binding:
        """As if it had a checkpoint."""
        return Binding(query_id=QueryId(self.stream), checkpoint=self.location)


def attempt_of(race: Race, batch: int, *, epoch: int = 1, nonce: str = "") -> Attempt:
    """Return a batch of a race, as a driver would bring it."""
    return Attempt(
        stream=race.stream,
        sink=TABLE,
        generation=1,
        epoch=epoch,
        nonce=nonce,
        binding=race.binding,
        batch_id=BatchId(batch),
        digest=f"digest {batch}",
        start_offsets=f"end {batch - 1}",
        end_offsets=f"end {batch}",
    )


def ids_of(batch: int) -> range:
    """Return the rows of a batch."""
    return range(batch * ROWS, (batch + 1) * ROWS)


@dataclass(frozen=True, slots=True)
class Rows:
    """Stands for Spark's DataFrame of a batch."""

    race: int
    batch: int
    sparkSession: Any = None  # noqa: N815 - Spark's own name

    def batches(self) -> list[pa.RecordBatch]:
        """Return the rows."""
        ids = pa.array(ids_of(self.batch), pa.int64())
        numbers = pa.array([self.race] * ROWS, pa.int64())
        return [pa.record_batch([numbers, ids], schema=SCHEMA)]


def say(what: str, **more: Any) -> None:
    """Tell the one who started this what happens."""
    sys.stdout.write(
        json.dumps({"what": what, "at": time.monotonic(), "wall": time.time(), **more}) + "\n"
    )
    sys.stdout.flush()


class Listener:
    """Halts the process at one point, and has the batch wait at another, each once."""

    def __init__(self, race: Race) -> None:
        self._halts = [race.halts_at]
        self._waits = [race.waits_at]

    def __call__(self, point: str) -> None:
        """Hear of a point."""
        if point == WAITING:
            say(WAITING)
        if point in self._halts:
            self._halts.clear()
            say(HALTS)
            os.kill(os.getpid(), signal.SIGSTOP)
        if point in self._waits:
            self._waits.clear()
            say(STANDS)
            sys.stdin.readline()


class Runner:
    """Runs one race."""

    def __init__(self, race: Race, sink: PostgresWriter) -> None:
        self._race = race
        self._sink = sink
        self._writer: Writer = open_writer(race.location, race.options)
        self._lost = threading.Event()
        self._done = threading.Event()

    def run(self) -> str:
        """Wait for the lease and bring what is left to bring; return how it ended."""
        lease = take_lease(
            self._writer,
            this_process(),
            term_s=self._race.term_s,
            tell=lambda _: points.reached(WAITING),
        )
        say(TAKEN, epoch=lease.epoch)
        points.reached("G2")
        with self._renewing(lease):
            row = self._sink.ledger.read(self._race.stream)
            assert isinstance(row, LedgerRow)
            fenced = self._sink.ledger.fence(row, epoch=lease.epoch, nonce=lease.token)
            if fenced is None:
                return "the fence was not its to take"
            say(FENCED, epoch=lease.epoch, last_batch=fenced.last_batch)
            points.reached("G5")
            ended = self._bring(lease)
        say(GIVEN_UP, epoch=lease.epoch)
        if not self._lost.is_set():
            release(self._writer, lease)
        return ended

    def _bring(self, lease: Lease) -> str:
        for _ in range(self._race.brings):
            if self._lost.is_set():
                return "the lease is lost"
            row = self._sink.ledger.read(self._race.stream)
            assert isinstance(row, LedgerRow)
            batch = row.last_batch + 1
            if batch == BATCHES:
                return "all is there"
            points.reached("S1")
            attempt = attempt_of(self._race, batch, epoch=lease.epoch, nonce=lease.token)
            decision = self._sink.write(attempt, cast("Any", Rows(self._race.number, batch)))
            if isinstance(decision, Refuse):
                return decision.reason.name
            points.reached("S7")
        return "its part is there"

    @contextmanager
    def _renewing(self, lease: Lease) -> Iterator[None]:
        thread = threading.Thread(target=self._renew, args=(lease,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._done.set()
            thread.join()

    def _renew(self, lease: Lease) -> None:
        found: Lease | None = lease
        while found is not None and not self._done.wait(lease.term_s / 3):
            found = renew(self._writer, found)
        if found is None:
            self._lost.set()


def open_row(race: Race) -> LedgerRow:
    """Return the ledger row of a race before its first batch."""
    first = attempt_of(race, 0)
    return LedgerRow(
        stream=first.stream,
        sink=first.sink,
        generation=first.generation,
        epoch=0,
        nonce="",
        binding=first.binding,
        last_batch=BatchId(-1),
        digest=None,
        end_offsets=first.start_offsets,
    )


def main() -> None:
    """Run every race that is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dsn")
    parser.add_argument("--lease-clock", choices=("monotonic", "wall"), default="monotonic")
    asked = parser.parse_args()
    if asked.lease_clock == "wall":
        clock.monotonic = time.time
    collect.collected = lambda batch, **_: nullcontext(batch.batches())  # type: ignore[assignment]
    large.is_large = lambda batch: batch is None
    collect.budget_of = lambda spark: 0 if cast("Any", spark) else 1 << 30
    sink = Postgres(lambda: asked.dsn, table=TABLE)
    with psycopg.connect(asked.dsn, autocommit=True) as connection:
        target = check_table(connection, TABLE, SCHEMA)
    ledger = PostgresLedgerStore(sink)
    ledger.table = target
    # There is no Spark here.
    found = Found(ledger=ledger, target=target, identity=TABLE)
    writer = PostgresWriter(sink, found=found, spark=None, stream="")
    say(READY)
    # Not by iterating: that reads ahead, and a waiting batch reads lines too.
    while line := sys.stdin.readline():
        race = msgspec.json.decode(line, type=Race)
        points.listen(Listener(race))
        try:
            ended = Runner(race, writer).run()
        except HoldfastError as error:
            ended = error.code
        except psycopg.OperationalError:
            ended = "its session was ended"
        points.listen(None)
        writer.close()
        say(ENDED, how=ended)


if __name__ == "__main__":
    main()
