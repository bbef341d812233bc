"""`holdfast prove` on the reference pipeline: exact when clean; every planted fault is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psycopg
import pytest
from pyspark.sql import SparkSession

from campaigns.streams.sensors_scenario import make_scenario, send
from examples.sensors import guarded
from examples.sensors.messages import make_messages
from examples.sensors.settings import DSN_NAME, Sensors
from holdfast.proof.values import Fault, Proof, ProofVerdict, TableProof
from lab import Kafka, Postgres
from tests.spark.file_stream import wait_until_given_up

pytestmark = pytest.mark.sampled(1)
"""`HOLDFAST_ALL=1` plants every fault in every table."""

MESSAGES = 2_000
STREAMS = {
    "raw": "sensor-raw-ingest",
    "quarantine": "sensor-quarantine",
    "gold": "sensor-merge-gold",
    "latest": "sensor-merge-gold",
}
ALTERED = {
    "raw": "value = X'00'",
    "quarantine": "reason = 'another'",
    "gold": "value = value + 1",
    "latest": "value = value + 1",
}


@dataclass
class Lake:
    """The pipeline after two runs."""

    spark: SparkSession
    sensors: Sensors

    def prove(self, *streams: str) -> Proof:
        pipeline = guarded.make_pipeline(self.sensors)
        return pipeline.prove(self.spark, only=streams or None)

    def name(self, table: str) -> str:
        return f"delta.`{self.sensors.table(table)}`"

    def version(self, table: str) -> int:
        history = self.spark.sql(f"DESCRIBE HISTORY {self.name(table)} LIMIT 1").first()
        assert history is not None
        return int(history.version)

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.sensors.dsn) as connection:
            connection.execute(statement.encode())

    def plant(self, table: str, fault: Fault) -> Callable[[], object]:
        """Damage one row of a table; return what puts it back."""
        if table == "latest":
            return self._plant_in_postgres(fault)
        before, name = self.version(table), self.name(table)
        row = self.spark.table(name).orderBy("offset" if table != "gold" else "sensor_id").first()
        assert row is not None
        one = (
            f"sensor_id = '{row.sensor_id}'"
            if table == "gold"
            else f"partition = {row.partition} AND offset = {row.offset}"
        )
        self.spark.sql(
            {
                Fault.LOST: f"DELETE FROM {name} WHERE {one}",
                Fault.DUPLICATED: f"INSERT INTO {name} SELECT * FROM {name} WHERE {one}",
                Fault.ALTERED: f"UPDATE {name} SET {ALTERED[table]} WHERE {one}",
            }[fault]
        )
        return lambda: self.spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF {before}")

    def _plant_in_postgres(self, fault: Fault) -> Callable[[], object]:
        one = "sensor_id = (SELECT min(sensor_id) FROM latest)"
        self.execute("CREATE TABLE kept AS SELECT * FROM latest")
        self.execute("ALTER TABLE latest DROP CONSTRAINT latest_pkey")
        statements = {
            Fault.LOST: f"DELETE FROM latest WHERE {one}",
            Fault.DUPLICATED: f"INSERT INTO latest SELECT * FROM latest WHERE {one}",
            Fault.ALTERED: f"UPDATE latest SET {ALTERED['latest']} WHERE {one}",
        }
        self.execute(statements[fault])
        return lambda: self.execute(
            "DELETE FROM latest; INSERT INTO latest SELECT * FROM kept; DROP TABLE kept;"
            " ALTER TABLE latest ADD PRIMARY KEY (sensor_id)"
        )


@pytest.fixture(scope="module")
def lake(spark: SparkSession, kafka: Kafka, postgres: Postgres) -> Iterator[Lake]:
    scenario = make_scenario(
        kafka,
        postgres,
        messages_per_batch=MESSAGES // 4,
        serving_table=guarded.SERVING_TABLES,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(DSN_NAME, scenario.dsn)
        sent = make_messages(MESSAGES, seed=20_261_117)
        for part in (sent[: MESSAGES // 2], sent[MESSAGES // 2 :]):
            send(kafka, scenario.topic, part)
            guarded.run_once(spark, scenario)
            wait_until_given_up()
        yield Lake(spark, scenario)


def test_the_clean_pipeline_is_exact(lake: Lake) -> None:
    proof = lake.prove()
    tables = {each.table.rpartition("/")[2]: each for each in proof.tables}
    latest, served = "the PostgreSQL table latest", "the PostgreSQL table product_usage"
    with_state = {"typed", "usage", served}
    assert set(tables) == {"raw", "quarantine", "gold", latest, *with_state}
    assert {each.verdict for name, each in tables.items() if name not in with_state} == {
        ProofVerdict.EXACT
    }
    assert {tables[name].verdict for name in with_state} <= {
        ProofVerdict.EXACT,
        ProofVerdict.NOT_COMPARED,
    }
    rows = {name: each.compared.expected for name, each in tables.items() if each.compared}
    assert rows["raw"] == tables["raw"].records == MESSAGES
    assert 0 < rows["gold"] == rows[latest] < MESSAGES
    assert 0 < rows["quarantine"] < MESSAGES
    assert {name: tables[name].by for name in ("raw", "quarantine", "gold", latest)} == {
        "raw": ("topic", "partition", "offset"),
        "quarantine": ("partition", "offset"),
        "gold": ("sensor_id",),
        latest: ("sensor_id",),
    }


@pytest.mark.sampled(1)
@pytest.mark.parametrize("fault", [Fault.LOST, Fault.DUPLICATED, Fault.ALTERED])
@pytest.mark.parametrize("table", list(STREAMS))
def test_a_planted_fault_is_found_and_nothing_else(lake: Lake, table: str, fault: Fault) -> None:
    put_back = lake.plant(table, fault)
    try:
        proof = lake.prove(STREAMS[table])
    finally:
        put_back()
    wrong = [each for each in proof.tables if each.verdict is not ProofVerdict.EXACT]
    (found,) = wrong
    assert found.table.endswith(table)
    _assert_one(found, fault)


def _assert_one(found: TableProof, fault: Fault) -> None:
    compared = found.compared
    assert compared is not None
    assert found.verdict is ProofVerdict.NOT_EXACT, found.reason
    figures = {each: getattr(compared, each.value) for each in Fault}
    assert figures == {**dict.fromkeys(Fault, 0), fault: 1}
    (example,) = compared.examples
    assert example.fault is fault
