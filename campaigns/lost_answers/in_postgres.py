"""Commits to PostgreSQL whose answer is lost, or which are lost themselves, in one long stream."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import holdfast as hf
from campaigns.judging import assert_passed, end_session, recorded
from campaigns.outcome import looks_of
from campaigns.streams import guarded_to_postgres
from campaigns.streams.postgres_shapes import ROWS_PER_BATCH
from campaigns.streams.postgres_workload import Workload
from holdfast import points
from holdfast.drills.drill import Recording
from holdfast.drills.polling_reader import polling_reader
from holdfast.sinks.collect import BUDGET_SETTING
from holdfast.streams.heartbeat import THREAD
from lab.faults.proxy import Trigger
from lab.faults.tcp_proxy import Action, TcpProxy

COMMIT = b"COMMIT"
LANDED: Action = "swallow"
"""The server has committed, and its answer does not come through."""
NEVER_ARRIVED: Action = "cut"
Begin = Callable[[], Any]
Listener = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """What became of a stream whose commits were lost."""

    faults: Counter[Action]
    looks: int
    """Of a reader, each at whole batches."""


class Loser:
    """Loses one COMMIT after the other; hears where the batch is, in the batch's own thread."""

    def __init__(
        self, recording: Recording, proxy: TcpProxy, actions: Sequence[Action], *, armed_at: str
    ) -> None:
        """Arm the proxy with the next action whenever a batch comes by a point."""
        self._recording = recording
        self._proxy = proxy
        self._left = deque(actions)
        self._armed_at = armed_at
        self._armed: tuple[Action, Trigger] | None = None
        self.faults: Counter[Action] = Counter()

    def __call__(self, point: str) -> None:
        """Hear of a point."""
        if point == self._armed_at:
            if self._armed is not None:  # the batch is written again
                assert self._happened() == NEVER_ARRIVED, "a batch that landed is written again"
                self._judge()
            if self._left:
                action = self._left.popleft()
                self._armed = action, self._proxy.at(COMMIT, action)
        elif point == "S7" and self._armed is not None:
            assert self._happened() == LANDED, "a batch that never arrived is taken for written"
            self._judge()

    def check_all_happened(self) -> None:
        """Check that no fault is left."""
        assert not self._left, f"{len(self._left)} commits were not lost"
        assert self._armed is None, "the last commit was not lost"

    def _happened(self) -> Action:
        assert self._armed is not None
        (action, happened), self._armed = self._armed, None
        happened.wait(seconds=10)
        self.faults[action] += 1
        return action

    def _judge(self) -> None:
        """Look at the table after a fault: it has exactly the batches whose COMMIT has landed."""
        told, landed = self._recording.look()[0].parts, self.faults[LANDED]
        assert told == landed, f"the ledger tells of {told} batches; {landed} have landed"


def lose_commits(
    begin: Begin, work: Workload, proxy: TcpProxy, *, actions: Sequence[Action], armed_at: str
) -> Lost:
    """Lose one COMMIT after the other while a reader looks on; the query runs to its end.

    Args:
        begin: Starts the stream, which connects by way of the proxy.
        work: Its rows; one batch more than commits that land.
        proxy: In front of the server.
        actions: What happens to each COMMIT in turn.
        armed_at: The point after which the next COMMIT is that of the batch.

    Raises:
        AssertionError: Something was lost or duplicated, a fault did not happen, or the reader
            saw a part of a batch.
    """
    with recorded(work) as recording:
        loser = Loser(recording, proxy, actions, armed_at=armed_at)
        with polling_reader(work.count, recording.write):
            run_session(begin, recording, listener=loser)
        loser.check_all_happened()
        assert_passed(recording.check())
        return Lost(faults=loser.faults, looks=looks_of(recording.history))


def run_session(begin: Begin, recording: Recording, *, listener: Listener) -> None:
    """Run a query of this process to its end, which none of the faults may be; then look."""
    recording.start()
    points.listen(listener)
    try:
        begin().awaitTermination()
    finally:
        points.listen(None)
        wait_until_given_up()
    end_session(recording)


def wait_until_given_up() -> None:
    """Wait until every stream of this process that has ended has given its lease up."""
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join(60)


def by_the_driver(spark: SparkSession, work: Workload, root: Path) -> Begin:
    """Return what starts a stream whose driver writes its batches; DSN in the environment."""

    def begin() -> Any:
        return guarded_to_postgres.begin(_read(spark, work), shape=work.shape.name, root=str(root))

    return begin


def by_a_task(spark: SparkSession, work: Workload, root: Path, *, dsn: str) -> Begin:
    """Return what starts a stream of which every batch is written by one task, appended."""
    session = spark.newSession()
    session.conf.set(BUDGET_SETTING, "1")
    kept = root.with_suffix(".dsn")  # a task's process has not this one's environment
    kept.write_text(dsn)
    sink = hf.Postgres(f"file:{kept}", table="readings")

    def begin() -> Any:
        return hf.start(
            _read(session, work),
            stream="readings",
            into=sink,
            root=str(root),
            trigger={"availableNow": True},
        )

    return begin


def _read(spark: SparkSession, work: Workload) -> Any:
    return guarded_to_postgres.read(
        spark, work.kafka.address, work.topic, rows_per_batch=str(ROWS_PER_BATCH)
    )
