"""A healthy pipeline has no finding above a note: guarded and plain, with every look there is."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from campaigns.streams.sensors_scenario import make_scenario, send
from examples.sensors import guarded, plain
from examples.sensors.messages import make_messages
from examples.sensors.settings import DSN_NAME, Sensors
from holdfast.grades import Severity
from holdfast.judgement.judge import Judgement
from lab import Kafka, Postgres

pytestmark = pytest.mark.sampled(1)

BATCHES = 50 if "HOLDFAST_ALL" in os.environ else 4
PER_BATCH = 100
SINKS = {
    "sensor-raw-ingest": ["raw"],
    "sensor-deserialize": ["typed"],
    "sensor-quarantine": ["quarantine"],
    "sensor-merge-gold": ["gold"],
    "product-usage": ["usage"],
}


@pytest.fixture
def make_sensors(kafka: Kafka, postgres: Postgres, tmp_path: Path) -> Callable[[str], Sensors]:
    def make(serving_table: str) -> Sensors:
        made = make_scenario(
            kafka, postgres, messages_per_batch=PER_BATCH, serving_table=serving_table
        )
        send(kafka, made.topic, make_messages(BATCHES * PER_BATCH, seed=18))
        lake = tmp_path.as_uri()
        return replace(made, lake=lake, checkpoints=f"{lake}/checkpoints")

    return make


def above_notes(found: Judgement) -> list[str]:
    return [str(each) for each in found.findings if each.severity is not Severity.NOTE]


def test_the_guarded_pipeline(
    spark: SparkSession,
    make_sensors: Callable[[str], Sensors],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sensors = make_sensors(guarded.SERVING_TABLES)
    monkeypatch.setenv(DSN_NAME, sensors.dsn)
    guarded.run_once(spark, sensors)
    for stream in SINKS:
        found = hf.diagnose(stream, root=sensors.checkpoints, probe=True)
        assert above_notes(found) == [], stream
        assert found.verdict == "safe", (stream, found.not_judged)
        assert found.facts[3].value is not None


def test_the_plain_pipeline(spark: SparkSession, make_sensors: Callable[[str], Sensors]) -> None:
    sensors = make_sensors(plain.SERVING_TABLE)
    plain.run_once(spark, sensors)
    sources = {
        "sensor-raw-ingest": sensors.bootstrap,
        "sensor-deserialize": sensors.table("raw"),
        "sensor-merge-gold": sensors.table("typed"),
    }
    for stream, source in sources.items():
        found = hf.diagnose(
            f"{sensors.checkpoints}/{stream}",
            sources={"0": source},
            sinks=[sensors.table(table) for table in SINKS[stream]],
        )
        assert above_notes(found) == [], stream
