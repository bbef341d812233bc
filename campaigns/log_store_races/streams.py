"""Guarded streams into Delta on S3 with the LogStore, paused in a commit and replaced."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from campaigns.judging import judge
from campaigns.log_store_races.race import OURS
from campaigns.streams.delta_workload import Workload, make_workload
from holdfast.drills.kill import Driver
from lab import S3
from lab.faults.proxy import Trigger
from lab.faults.s3_answers import CONFLICT, INTERNAL
from lab.faults.s3_proxy import S3Proxy
from lab.log_store import log_store_jar
from lab.spark import environment

FILES = 3
COMMITS = {
    1: "of its fence",
    2: "of its ledger row",
    3: "of batch 0",
    4: "of batch 1",
    5: "of batch 2",
}
"""What a first driver commits as each version, after the table itself."""
ANSWERS: Mapping[str, Callable[[S3Proxy, str], Trigger]] = {
    "lost": lambda proxy, path: proxy.lose_answers(path, tries=1),
    "409 for a commit that landed": lambda proxy, path: proxy.errors.tell(
        path, CONFLICT, landed=True
    ),
    "409 for one that did not": lambda proxy, path: proxy.errors.tell(path, CONFLICT, landed=False),
    "500 for a commit that landed": lambda proxy, path: proxy.errors.tell(
        path, INTERNAL, landed=True
    ),
}
"""What is told of every commit of a stream, once each."""
_SECONDS = 240.0
"""Until a driver has come to a commit; on a busy machine Spark alone takes a minute."""


def _with_log_store(settings: Mapping[str, str]) -> dict[str, str]:
    return {**settings, **OURS, "spark.jars": str(log_store_jar())}


def _driver(work: Workload, directory: Path, s3: S3, *, port: int | None = None) -> Driver:
    settings = _with_log_store(s3.spark_settings(port=port))
    return Driver(
        work.program(),
        environment=environment(directory, settings),
        directory=directory / "runs",
    )


def _commit(version: int) -> str:
    return rf"/table/_delta_log/{version:020}\.json$"


def change_answers(name: str, s3: S3, directory: Path) -> str:
    """Answer every commit of a stream otherwise than the store does; the query lives through it.

    Raises:
        AssertionError: Something is lost or duplicated, or the driver did not end well.
    """
    work = make_workload(directory / "work", "appended", files=FILES, s3=s3)
    with S3Proxy(s3.port) as proxy:
        driver = _driver(work, directory / "driver", s3, port=proxy.port)
        told = ANSWERS[name](proxy, _commit(min(COMMITS)))
        with driver.start() as running:
            for version in COMMITS:
                told.wait(seconds=_SECONDS)
                if version + 1 in COMMITS:  # before the driver can have come to it
                    told = ANSWERS[name](proxy, _commit(version + 1))
            ended = running.wait()
    assert ended.status == 0, ended.log.read_text()[-3000:]
    judge(work)
    return f"answer to a commit: {name}, {len(COMMITS)} of {len(COMMITS)} commits; exact"


def pause_in_commit(version: int, s3: S3, directory: Path) -> str:
    """Pause a driver past its lease with a commit on its way, and have it replaced meanwhile.

    Its request goes on to the store when the second driver has ended, and then it is resumed.

    Raises:
        AssertionError: Something is lost or duplicated, the table is another one afterwards, or the
            first driver ended well.
    """
    work = make_workload(directory / "work", "appended", files=FILES, s3=s3)
    with S3Proxy(s3.port) as proxy:
        first = _driver(work, directory / "first", s3, port=proxy.port)
        second = _driver(work, directory / "second", s3)
        held = proxy.hold(_commit(version))
        with first.start() as sleeper:
            held.arrived.wait(seconds=_SECONDS)
            os.killpg(sleeper.pid, signal.SIGSTOP)
            second.run_to_end()
            judge(work)
            before = work.open("table").read()
            held.release()
            sleeper.resume()
            ended = sleeper.wait()
    judge(work)
    assert work.open("table").read() == before, "a driver that was replaced has committed"
    assert ended.status != 0, "a driver that was replaced ended well"
    return (
        f"paused in the commit {COMMITS[version]} (version {version}): replaced, resumed and "
        "refused; exact"
    )
