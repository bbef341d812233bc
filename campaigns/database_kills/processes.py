"""Writers without Spark, killed and paused in every step of the protocol, many times.

A process does what a driver does: it reads the ledger, fences the sink, and writes the batches that
its own list of finished batches lacks. So a batch whose commit was not noted comes again, as Spark
runs it again. The server is killed too.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pymysql
from pyspark.sql.types import LongType, StructField, StructType

from campaigns.database_kills.places import Database, OnMariaDb, Rows
from campaigns.kafka_kills import processes
from campaigns.kafka_kills.processes import REFUSED, Place, Strike, draw, ended
from holdfast import points
from holdfast.ledger import LedgerRow, Refuse
from holdfast.sinks import collect
from holdfast.sinks.database.failures import DatabaseAwayError
from holdfast.sinks.database.sink import Database as DatabaseSink
from holdfast.sinks.database.writer import resolve_writer
from tests.ledger_rows import ROW, attempt

STREAM, TABLE = "readings", "readings"
_FORK = get_context("fork")
ROWS, KEYS = 200, 500
"""Rows of a batch, and how many keys a merge has."""
_PAUSED_INSIDE = ("fenced", "S2", "S3", "copying", "S4", "S5", "S6")
_PAUSED_OUTSIDE = ("S6", "noted")
"""SQLite cannot end a session: who is stopped within a transaction keeps its successor waiting."""
COLUMNS = {
    "appended": "id bigint, n bigint",
    "merged": "id bigint PRIMARY KEY, n bigint",
}


@dataclass(frozen=True, kw_only=True)
class Into(Place):
    """Where a stream of processes writes; `servers` of a place is the database's URL."""

    database: Database
    shape: str

    def sink(self) -> DatabaseSink:
        """Return the sink."""
        by = {"keys": ("id",), "sequence_by": "n"} if self.shape == "merged" else {}
        return DatabaseSink(lambda: self.servers, table=TABLE, **by)  # type: ignore[arg-type]

    def after(self, batches: int) -> Rows:
        """Return what the table must hold after so many batches."""
        rows = [row for each in range(batches) for row in self.batch(each)]
        return rows if self.shape == "appended" else list(dict(rows).items())

    def batch(self, number: int) -> Rows:
        """Return the rows of a batch; a merge replaces those of earlier batches."""
        ids = range(number * ROWS, (number + 1) * ROWS)
        return [(each if self.shape == "appended" else each % KEYS, each) for each in ids]

    def judge(self, *, batches: int | None) -> str:
        """Say what is wrong with the table; empty if it holds whole batches, or just so many."""
        found = self.database.rows()
        there = max((number for _, number in found), default=-1)
        wanted = (there + 1) // ROWS if batches is None else batches
        if Counter(found) != Counter(self.after(wanted)):
            return f"{len(found)} rows up to {there}, which are not those of {wanted} batches"
        return ""

    def check(self, *, batches: int | None) -> None:
        """Look once.

        Raises:
            AssertionError: What is there is not exact.
        """
        wrong = self.judge(batches=batches)
        assert not wrong, wrong


def start(place: Into, *, batches: int, strike: Strike | None) -> int:
    """Fork a process that writes all batches up to a number; return its pid."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        status = _write(place, batches, strike)
    except BaseException:  # noqa: BLE001 - the child ends here, whatever it is
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _write(place: Into, batches: int, strike: Strike | None) -> int:
    by_spark: Any = collect
    by_spark.collected = lambda batch, **_: nullcontext(iter(batch.batches))
    budget: Any = collect
    budget.budget_of = lambda _: 1 << 30
    points.listen(processes._striker(strike))  # noqa: SLF001 - the same for every sink
    schema = StructType([StructField("id", LongType()), StructField("n", LongType())])
    frame: Any = SimpleNamespace(schema=schema)
    writer = resolve_writer(place.sink(), frame, STREAM)
    writer.create()
    try:
        row = _take(writer.ledger)
    except DatabaseAwayError:  # whoever came next has ended its session
        row = None
    if row is None:
        return REFUSED
    mine = {"epoch": row.epoch, "nonce": row.nonce}
    for number in range(place.next_batch(), batches):
        ids, numbers = zip(*place.batch(number), strict=True)
        table = pa.table({"id": pa.array(ids, pa.int64()), "n": pa.array(numbers, pa.int64())})
        batch: Any = SimpleNamespace(batches=table.to_batches(ROWS // 2), sparkSession=None)
        if isinstance(writer.write(attempt(number, **mine), batch), Refuse):
            return REFUSED
        points.reached("noted")
        place.note(number)
    return 0


def _take(ledger: Any) -> LedgerRow | None:
    """Open the ledger row, or fence it; None: another process was faster."""
    found = ledger.read(STREAM)
    if found is None:
        return ROW if ledger.replace(None, ROW) else None
    assert isinstance(found, LedgerRow), found
    fenced: LedgerRow | None = ledger.fence(found, epoch=found.epoch + 1, nonce=str(os.getpid()))
    return fenced


def kill_many(place: Into, *, kills: int, choose: random.Random) -> Counter[str]:
    """Kill writers so many times, each in the recovery from the last; return where they died.

    Raises:
        AssertionError: A row is lost or duplicated, or a part of a batch was seen.
    """
    died: Counter[str] = Counter()
    while died.total() < kills:
        strike = draw(choose)
        batches = place.next_batch() + 3
        status = ended(start(place, batches=batches, strike=strike))
        if status == -signal.SIGKILL:
            died["in the commit" if strike.after_ms else strike.point] += 1
        else:
            assert status == 0, f"a writer ended with {status} and not by its kill at {strike}"
        place.check(batches=None)
    last = place.next_batch() + 1
    assert ended(start(place, batches=last, strike=None)) == 0
    place.check(batches=last)
    return died


def pause_many(place: Into, *, choose: random.Random, pauses: int) -> Counter[str]:
    """Pause writers, let another one take over and finish, and resume the first.

    Raises:
        AssertionError: A row is lost or duplicated, or a writer that was replaced went on.
    """
    paused: Counter[str] = Counter()
    is_server = isinstance(place.database, OnMariaDb)
    for _ in range(pauses):
        point = choose.choice(_PAUSED_INSIDE if is_server else _PAUSED_OUTSIDE)
        batches = place.next_batch() + 3
        first = start(place, batches=batches, strike=Strike(point=point, signal=signal.SIGSTOP))
        _, status = os.waitpid(first, os.WUNTRACED)
        assert os.WIFSTOPPED(status), f"a writer was not paused at {point}"
        assert ended(start(place, batches=batches, strike=None)) == 0
        place.check(batches=batches)
        os.kill(first, signal.SIGCONT)
        assert ended(first) == REFUSED, f"a writer that was paused at {point} went on"
        place.check(batches=batches)
        paused[point] += 1
    return paused


def crash_many(place: Into, *, choose: random.Random, crashes: int) -> int:
    """Kill the server while a writer writes, and start it again; the same writer goes on.

    Raises:
        AssertionError: A row is lost or duplicated, or the writer did not go on.
    """
    if not isinstance(place.database, OnMariaDb):
        return 0
    server = place.database.server
    for _ in range(crashes):
        batches = place.next_batch() + 40
        writer = start(place, batches=batches, strike=None)
        begin, at = place.next_batch(), choose.randrange(1, 30)
        while place.next_batch() < begin + at:
            time.sleep(0.001)
        server.crash()
        server.start()
        assert ended(writer) == 0
        place.check(batches=batches)
    return crashes


@contextmanager
def reader(place: Into) -> Iterator[Callable[[], tuple[int, str]]]:
    """Look again and again beside the writers; gives what returns the looks, and what was wrong.

    In a process of its own: a child that is forked beside a thread can wait for its locks for ever.
    """
    looks, stop, wrong = _FORK.Value("i", 0), _FORK.Event(), _FORK.Queue()
    given = {"looks": looks, "stop": stop, "wrong": wrong}
    process = _FORK.Process(target=_look_on, args=(place,), kwargs=given, daemon=True)
    process.start()

    def result() -> tuple[int, str]:
        stop.set()
        process.join(60)
        return int(looks.value), "" if wrong.empty() else str(wrong.get())

    try:
        yield result
    finally:
        stop.set()


def _look_on(place: Into, *, looks: Any, stop: Any, wrong: Any) -> None:
    while not stop.wait(0.05):
        try:
            said = place.judge(batches=None)
        except (OSError, pymysql.err.MySQLError):
            continue  # the server is away while it is killed
        looks.value += 1
        if said:
            wrong.put(said)
            return


def run_processes(
    place: Into, *, kills: int, pauses: int, crashes: int, seed: int
) -> Iterator[str]:
    """Kill and pause writers, and kill the server, while a reader looks; yield a line for each."""
    choose = random.Random(seed)  # noqa: S311 - it must be replayable
    began = time.monotonic()
    with reader(place) as result:
        died = kill_many(place, kills=kills, choose=choose)
        yield f"writers killed: {died.total()} ({_shown(died)}); exact"
        paused = pause_many(place, choose=choose, pauses=pauses)
        yield f"writers paused, replaced and resumed: {paused.total()} ({_shown(paused)})"
        if crashed := crash_many(place, choose=choose, crashes=crashes):
            yield f"servers killed while a writer went on: {crashed}; exact"
        looks, wrong = result()
    assert not wrong, wrong
    assert looks
    seconds = time.monotonic() - began
    seen = f"{looks:,} looks of a reader, none wrong"
    yield f"{place.next_batch()} batches, each once; {seen}; {seconds:.0f} s"


def _shown(found: Counter[str]) -> str:
    return ", ".join(f"{point} {count}" for point, count in sorted(found.items()))
