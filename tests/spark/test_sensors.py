"""The reference pipeline end to end, on Kafka, S3, Delta and PostgreSQL."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from examples.sensors.judge import judge
from examples.sensors.messages import make_messages
from examples.sensors.plain import Sensors, run_once
from examples.sensors.scenario import make_scenario, send
from lab import Kafka, Postgres

MESSAGES = 20_000
SEED = 20_261_115


@pytest.fixture(scope="module")
def sensors(spark: SparkSession, kafka: Kafka, postgres: Postgres) -> Sensors:
    """The pipeline after two runs on the same checkpoints, half the messages before each."""
    scenario = make_scenario(kafka, postgres, messages_per_batch=MESSAGES // 4)
    sent = make_messages(MESSAGES, seed=SEED)
    for part in (sent[: MESSAGES // 2], sent[MESSAGES // 2 :]):
        send(kafka, scenario.topic, part)
        run_once(spark, scenario)
    return scenario


def test_every_table_holds_exactly_what_was_sent(spark: SparkSession, sensors: Sensors) -> None:
    differences = judge(spark, sensors, make_messages(MESSAGES, seed=SEED))
    assert set(differences) == {"raw", "typed", "quarantine", "gold", "postgres"}
    assert {name: found for name, found in differences.items() if not found.exact} == {}
    assert differences["raw"].expected == MESSAGES


def test_the_judge_finds_one_row_too_many_in_any_table(
    spark: SparkSession, sensors: Sensors
) -> None:
    """The checker itself is checked: against a message less, every table has something extra."""
    one_less = make_messages(MESSAGES, seed=SEED)[:-1]
    differences = judge(spark, sensors, one_less)
    assert not differences["raw"].exact
    assert not differences["typed"].exact or not differences["quarantine"].exact


def test_each_stream_has_its_own_stable_checkpoint(spark: SparkSession, sensors: Sensors) -> None:
    hadoop = spark.sparkContext._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
    base = hadoop.Path(sensors.checkpoints)
    files = base.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    names = {status.getPath().getName() for status in files.listStatus(base)}
    assert names == {"sensor-raw-ingest", "sensor-deserialize", "sensor-merge-gold"}
