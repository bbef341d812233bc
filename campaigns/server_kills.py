"""PostgreSQL itself is killed under a guarded stream: in COPY, before and after COMMIT.

    python -m campaigns.server_kills [KILLS]

The stream's driver lives on, and starts the query again where it did not survive. A session is
killed (the server then ends all of them and recovers), the whole server with SIGKILL, and the whole
server as by `pg_ctl stop -m immediate`, and a pool of transactions in front of it; each KILLS times
(30) at each point. A reader looks on.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from campaigns.judging import assert_passed, end_session, recorded
from campaigns.outcome import describe_bound, looks_of
from campaigns.streams import guarded_to_postgres
from campaigns.streams.postgres_shapes import APPENDED, MERGED, ROWS_PER_BATCH
from campaigns.streams.postgres_workload import READER, Workload, make_workload
from holdfast import points
from holdfast.drills.kill.waiting import wait_until
from holdfast.drills.polling_reader import polling_reader
from lab import Kafka, PgBouncer, Postgres
from lab.scratch import scratch_directory
from lab.spark import start_session
from lab.warm_up import ensure_archive

POINTS = {"in COPY": "copying", "before COMMIT": "S5", "after COMMIT": "S6"}
THE_POOL = "the pool in front killed"
WAIT_SECONDS = 120.0


class Halt:
    """Holds a batch at every second time it comes by a point, until it is let go."""

    def __init__(self, point: str) -> None:
        self._point = point
        self._seen = 0
        self._halted, self._go = threading.Event(), threading.Event()
        self.is_armed = True

    def __call__(self, point: str) -> None:
        """Hear of a point; called by the thread of the batch."""
        if point != self._point or not self.is_armed:
            return
        self._seen += 1
        if self._seen % 2 == 0:
            self._halted.set()
            assert self._go.wait(WAIT_SECONDS)
            self._go.clear()

    def happens(self, query: Any) -> bool:
        """Wait until a batch is held, or the query has ended; return whether one is."""
        assert wait_until(lambda: self._halted.is_set() or not query.isActive, seconds=WAIT_SECONDS)
        return self._halted.is_set()

    def release(self) -> None:
        """Let the batch go on."""
        self._halted.clear()
        self._go.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """What became of a stream whose server was killed."""

    kills: int
    failures: int
    """How often the query ended by that, and was started again."""
    looks: int
    """Of a reader, each at whole batches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A guarded stream in this process."""

    spark: SparkSession
    work: Workload
    root: Path

    def begin(self) -> Any:
        """Start it."""
        rows = guarded_to_postgres.read(
            self.spark,
            self.work.kafka.address,
            self.work.topic,
            rows_per_batch=str(ROWS_PER_BATCH),
        )
        return guarded_to_postgres.begin(rows, shape=self.work.shape.name, root=str(self.root))


def kill_server(
    stream: Stream, point: str, kills: int, *, strike: Callable[[], None], dsn: str
) -> Killed:
    """Strike the server so many times while a batch is at a point; then run to the end.

    Raises:
        AssertionError: Rows were lost or duplicated, or the reader saw a part of a batch.
    """
    halt, done, failures = Halt(point), 0, 0
    os.environ["READINGS_DSN"] = dsn
    points.listen(halt)
    try:
        with recorded(stream.work) as recording:
            with polling_reader(partial(stream.work.count, dsn), recording.write):
                while done < kills:
                    recording.start()
                    query = stream.begin()
                    while done < kills and halt.happens(query):
                        strike()
                        done += 1
                        halt.is_armed = done < kills
                        halt.release()
                    error = _error_of(query)
                    failures += bool(error)
                    end_session(recording, error)
                recording.start()
                end_session(recording, _error_of(stream.begin()))
            assert_passed(recording.check())
            return Killed(kills=done, failures=failures, looks=looks_of(recording.history))
    finally:
        points.listen(None)


def _error_of(query: Any) -> str:
    """Wait for the end of a query; return what ended it, or nothing."""
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        return str(error)
    return ""


def strikes(postgres: Postgres, pool: PgBouncer, database: str) -> dict[str, Callable[[], None]]:
    """Return the ways to kill the server; each returns when it is up again."""

    def kill_all() -> None:
        postgres.crash()
        postgres.start()

    def stop_immediately() -> None:
        postgres.stop_immediately()
        postgres.start()

    def kill_pool() -> None:
        pool.crash()
        pool.start()

    return {
        "a session killed": lambda: postgres.kill_session(database, spared=READER),
        "the server killed": kill_all,
        "stopped immediately": stop_immediately,
        THE_POOL: kill_pool,
    }


def batches_for(kills: int) -> int:
    """Return how many batches so many kills need: a query that survives needs two for each."""
    return 2 * kills + 2


def kill_in_every_way(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, *, directory: Path, kills: int
) -> Iterator[tuple[str, Killed]]:
    """Kill the server in every way at every point, each on a stream of its own."""
    with PgBouncer(postgres) as pool:
        for number, (told, point) in enumerate(POINTS.items()):
            for way in strikes(postgres, pool, ""):
                shape = (APPENDED, MERGED)[number % 2]
                work = make_workload(kafka, postgres, shape, batches=batches_for(kills))
                stream = Stream(spark=spark, work=work, root=directory / work.topic)
                dsn = pool.through(work.dsn) if way == THE_POOL else work.dsn
                strike = strikes(postgres, pool, work.topic)[way]
                killed = kill_server(stream, point, kills, strike=strike, dsn=dsn)
                yield f"{told}, {way}, {shape.name}", killed


def main(kills: int) -> None:
    """Print what became of the streams."""
    ensure_archive()
    total = 0
    with Kafka() as kafka, Postgres() as postgres, scratch_directory() as scratch:
        spark = start_session(scratch, {})
        for told, killed in kill_in_every_way(
            spark, kafka, postgres, directory=scratch, kills=kills
        ):
            total += killed.kills
            print(
                f"{told}: {killed.kills} kills, 0 lost, 0 duplicated, {killed.failures} ended the "
                f"query; {killed.looks:,} looks of a reader, each at whole batches",
                flush=True,
            )
        spark.stop()
    print(describe_bound(total))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
