"""A driver killed while its task stands in the middle of its transaction: the batch is there once.

What the task has sent so far waits in a proxy, and goes on only after the driver is dead.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from campaigns.judging import judge
from campaigns.streams.postgres_shapes import APPENDED
from campaigns.streams.postgres_workload import make_workload
from holdfast.drills.kill import Driver
from lab import Kafka, Postgres
from lab.faults.tcp_proxy import TcpProxy
from lab.spark import environment

BY_A_TASK = {"spark.holdfast.driverBatchBytes": "1"}
LEDGER_ADVANCES = b"INSERT INTO holdfast.history"


@pytest.mark.usefixtures("class_archive")
@pytest.mark.parametrize("goes_on", ["before the next start", "after the next start"])
def test_what_a_task_sends_after_its_driver_is_dead_harms_nothing(
    kafka: Kafka, postgres: Postgres, *, tmp_path: Path, goes_on: str
) -> None:
    work = make_workload(kafka, postgres, APPENDED)
    program = work.program(str(tmp_path / "streams"))
    variables = environment(tmp_path, BY_A_TASK)
    with TcpProxy(postgres.port) as proxy:
        held = proxy.at(LEDGER_ADVANCES, "hold", nth=2)
        through = work.dsn.replace(f"port={postgres.port}", f"port={proxy.port}")
        first = Driver(
            program,
            environment={**variables, "READINGS_DSN": through},
            directory=tmp_path / "first",
        )
        second = Driver(
            program,
            environment={**variables, "READINGS_DSN": work.dsn},
            directory=tmp_path / "second",
        )
        with first.start() as running:
            held.wait(seconds=240)
            running.kill()
            running.wait()
            if goes_on == "before the next start":
                proxy.release()
            second.run_to_end()
            judge(work)
            if goes_on == "after the next start":
                proxy.release()
    judge(work)
