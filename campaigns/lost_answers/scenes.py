"""Commits that landed and whose answer was lost or an error: recognised, and nothing is duplicated.

    python -m campaigns.lost_answers [--postgres 100] [--delta 50] [--seed N]

PostgreSQL: so many answers to COMMIT are lost after the commit has landed, and as many COMMITs on
their way there; the seed draws their order. Then a fifth as many answers to the one task that
writes a large batch. Delta: so many commits that land and end in an error, half of them on disk and
half on S3; and a tenth as many where S3A repeats the request and all is well. One Spark session;
the table is judged after every fault, and a reader looks on.
"""

from __future__ import annotations

import argparse
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from campaigns.lost_answers.in_delta import (
    EVERY_TRY,
    FEW_TRIES,
    PUT_FAILED,
    Failed,
    LostAnswer,
    fail_after_commits,
    make_hooked_table,
    stream_of,
)
from campaigns.lost_answers.in_postgres import (
    LANDED,
    NEVER_ARRIVED,
    Lost,
    by_a_task,
    by_the_driver,
    lose_commits,
)
from campaigns.streams.delta_workload import make_workload as make_files
from campaigns.streams.postgres_shapes import APPENDED, MERGED, Shape
from campaigns.streams.postgres_workload import make_workload as make_topic
from lab import S3, Kafka, Postgres
from lab.faults.s3_proxy import S3Proxy
from lab.faults.tcp_proxy import TcpProxy
from lab.scratch import scratch_directory
from lab.spark import start_session
from lab.warm_up import ensure_archive

DELTA_SHAPES = ("appended", "merged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """What the streams run on."""

    spark: SparkSession
    kafka: Kafka
    postgres: Postgres
    directory: Path


def lose_in_postgres(lab: Lab, shape: Shape, faults: int, *, choose: random.Random) -> Lost:
    """Lose so many COMMITs before, and so many answers after they have landed, mixed."""
    work = make_topic(lab.kafka, lab.postgres, shape, batches=faults + 1)
    actions = [LANDED] * faults + [NEVER_ARRIVED] * faults
    choose.shuffle(actions)
    with TcpProxy(lab.postgres.port) as proxy:
        os.environ["READINGS_DSN"] = lab.postgres.dsn(work.topic, port=proxy.port)
        begin = by_the_driver(lab.spark, work, lab.directory / work.topic)
        return lose_commits(begin, work, proxy, actions=actions, armed_at="S5")


def lose_in_task(lab: Lab, faults: int) -> Lost:
    """Lose so many answers to the task that writes a batch."""
    work = make_topic(lab.kafka, lab.postgres, APPENDED, batches=faults + 1)
    with TcpProxy(lab.postgres.port) as proxy:
        through = lab.postgres.dsn(work.topic, port=proxy.port)
        begin = by_a_task(lab.spark, work, lab.directory / work.topic, dsn=through)
        # The driver itself commits nothing between this point and its task.
        return lose_commits(begin, work, proxy, actions=[LANDED] * faults, armed_at="S1")


def fail_on_disk(spark: SparkSession, directory: Path, shape: str, *, faults: int) -> Failed:
    """Have Delta itself fail after its commit, so many times."""
    work = make_files(directory, shape, files=faults + 1)
    hook = make_hooked_table(spark, work)
    return fail_after_commits(stream_of(spark, work), work, hook, faults=faults)


def fail_on_s3(lab: Lab, shape: str, lost: LostAnswer, *, s3: S3, faults: int) -> Failed:
    """Lose the answer to the PUT of a commit, so many times."""
    work = make_files(
        lab.directory / f"{shape}-{os.urandom(3).hex()}", shape, files=faults + 1, s3=s3
    )
    return fail_after_commits(stream_of(lab.spark, work), work, lost, faults=faults)


def run_postgres(lab: Lab, faults: int, *, choose: random.Random) -> Iterator[str]:
    """Run the streams into PostgreSQL; yield a line per kind."""
    shapes = ((APPENDED, faults - faults // 2), (MERGED, faults // 2))
    lost = [lose_in_postgres(lab, shape, some, choose=choose) for shape, some in shapes if some]
    count = sum((each.faults for each in lost), Counter())
    looks = sum(each.looks for each in lost)
    yield (
        f"PostgreSQL, COMMIT landed and its answer lost: {count[LANDED]} times, all recognised; "
        f"nothing lost, nothing duplicated; {looks:,} looks of a reader"
    )
    yield (
        f"PostgreSQL, COMMIT lost before it landed: {count[NEVER_ARRIVED]} times, "
        "each written again by the same query; nothing lost, nothing duplicated"
    )
    task = lose_in_task(lab, max(1, faults // 5))
    yield (
        f"PostgreSQL, COMMIT of the one task landed and its answer lost: {task.faults[LANDED]} "
        f"times, all recognised; nothing lost, nothing duplicated; {task.looks:,} looks of a reader"
    )


def run_delta(lab: Lab, s3: S3, proxy: S3Proxy, *, faults: int) -> Iterator[str]:
    """Run the streams into Delta; yield a line per kind."""
    some = [faults // 4 + (number < faults % 4) for number in range(4)]
    on_disk = [
        fail_on_disk(lab.spark, lab.directory / f"hooked-{shape}", shape, faults=each)
        for shape, each in zip(DELTA_SHAPES, some[:2], strict=True)
        if each
    ]
    yield _told("Delta on disk, an error of Delta's own after its commit", on_disk)
    lost = LostAnswer(proxy, tries=EVERY_TRY, says=PUT_FAILED)
    on_s3 = [
        fail_on_s3(lab, shape, lost, s3=s3, faults=each)
        for shape, each in zip(DELTA_SHAPES, some[2:], strict=True)
        if each
    ]
    yield _told("Delta on S3, answer to the commit's PUT lost and every repetition", on_s3)
    once = LostAnswer(proxy, tries=1, says=None)
    repeated = fail_on_s3(lab, "appended", once, s3=s3, faults=max(1, faults // 10))
    yield _told("Delta on S3, answer to the commit's PUT lost once, repeated by S3A", [repeated])


def _told(kind: str, failed: list[Failed]) -> str:
    looks = sum(each.looks for each in failed)
    return (
        f"{kind}: {sum(each.faults for each in failed)} times, all recognised; "
        f"nothing lost, nothing duplicated; {looks:,} looks of a reader"
    )


def main() -> None:
    """Print what became of each kind."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--postgres", type=int, default=100)
    parser.add_argument("--delta", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    ensure_archive()
    with ExitStack() as stack:
        kafka, postgres = stack.enter_context(Kafka()), stack.enter_context(Postgres())
        s3 = stack.enter_context(S3())
        proxy = stack.enter_context(S3Proxy(s3.port))
        scratch = Path(stack.enter_context(scratch_directory()))
        settings = {**s3.spark_settings(port=proxy.port), **FEW_TRIES}
        spark = start_session(scratch / "spark", settings)
        spark.sparkContext.setLogLevel("OFF")  # every error is on purpose
        lab = Lab(spark=spark, kafka=kafka, postgres=postgres, directory=scratch)
        if asked.postgres:
            choose = random.Random(asked.seed)  # noqa: S311 - it must be replayable
            for line in run_postgres(lab, asked.postgres, choose=choose):
                print(line, flush=True)
        if asked.delta:
            for line in run_delta(lab, s3, proxy, faults=asked.delta):
                print(line, flush=True)
        spark.stop()
