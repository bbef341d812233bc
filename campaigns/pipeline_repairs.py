"""Repairs of the sensors pipeline after its kills: rewinds, a cascade reset, and a proof.

`python -m campaigns.pipeline_kills --repairs` runs them, on what the kills have left. After each
one the pipeline runs again, and every table is compared row by row.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from campaigns.commands import holdfast
from campaigns.mission.cases import allowing
from examples.sensors import guarded
from examples.sensors.judge import judge
from examples.sensors.messages import Message
from examples.sensors.settings import DSN_NAME, Sensors
from holdfast.plan.plan_file import decode_plan
from holdfast.proof.multiset import Difference
from holdfast.proof.values import ProofVerdict
from holdfast.storage.open import open_reader
from lab import S3
from lab.s3 import ACCESS_KEY, REGION, SECRET_KEY

BACK = 2
"""So many batches are run again after a rewind."""


def prepare(sensors: Sensors, s3: S3) -> None:
    """Name the servers in the environment, before Spark starts: its workers have it too."""
    os.environ[DSN_NAME] = sensors.dsn
    os.environ.update(
        AWS_ENDPOINT_URL=s3.address,
        AWS_ACCESS_KEY_ID=ACCESS_KEY,
        AWS_SECRET_ACCESS_KEY=SECRET_KEY,
        AWS_REGION=REGION,
        AWS_ALLOW_HTTP="true",
    )


def repair(
    spark: SparkSession, sensors: Sensors, sent: list[Message], *, scratch: Path
) -> Iterator[tuple[str, dict[str, Difference]]]:
    """Carry out each repair, run the pipeline, and yield how the tables then are."""
    for name in ("product-usage", "sensor-deserialize"):
        batch = max(_batches(sensors, name)) - BACK
        _apply(scratch, "rewind", name, "--to-batch", str(batch), root=sensors.checkpoints)
        guarded.run_once(spark, sensors)
        yield f"{name} rewound to batch {batch}", judge(spark, sensors, sent)
    first = ("sensor-raw-ingest", "--from", "earliest", "--output", "truncate")
    _apply(scratch, "reset", *first, root=sensors.checkpoints)
    guarded.run_once(spark, sensors)
    yield "cascade reset of all streams", judge(spark, sensors, sent)


def prove(spark: SparkSession, sensors: Sensors) -> dict[str, ProofVerdict]:
    """Return what `prove` says of each table."""
    proof = guarded.make_pipeline(sensors).prove(spark)
    return {each.table.rpartition("/")[2]: each.verdict for each in proof.tables}


def _apply(scratch: Path, goal: str, *words: str, root: str) -> None:
    """Plan with everything downstream, and carry it out with the permissions that it asks for.

    Raises:
        RuntimeError: There is no plan, or it was not carried out.
    """
    file = scratch / f"{goal}-{words[0]}.json"
    code, said = holdfast("plan", goal, *words, "--root", root, "--cascade", "-o", str(file))
    if code:
        raise RuntimeError(said)
    plan = decode_plan(file.read_bytes(), str(file))
    code, said = holdfast("apply", str(file), "--execute", *allowing(plan.words))
    if code:
        raise RuntimeError(said)


def _batches(sensors: Sensors, stream: str) -> list[int]:
    """Return the batches that are committed in the checkpoint of a stream that was never reset."""
    listed = open_reader(f"{sensors.checkpoints}/{stream}").list("commits").files
    names = [each.path.rpartition("/")[2] for each in listed]
    return [int(name) for name in names if name.isdigit()]
