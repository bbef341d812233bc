"""A deleted checkpoint is given back from the ledger: two of the six cases, drawn by the seed."""

from __future__ import annotations

import uuid
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from campaigns.given_back import DSN, Place, give_back
from lab import Kafka

pytestmark = pytest.mark.sampled(1)


@pytest.mark.parametrize("sink", ["postgres", "delta"])
@pytest.mark.parametrize("source", ["kafka", "files", "delta"])
def test_the_stream_goes_on_exactly_where_the_data_ends(  # noqa: PLR0917 - fixtures
    spark: SparkSession,
    kafka: Kafka,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    sink: str,
) -> None:
    monkeypatch.setenv(DSN, database)
    name = f"given_{source}_{uuid.uuid4().hex[:8]}"
    if source == "kafka":
        kafka.create_topic(name, partitions=2)
    with psycopg.connect(database) as connection:
        connection.execute(f"create table {name} (n int)".encode())
    place = Place(
        spark=spark,
        kafka=kafka,
        home=tmp_path,
        source=source,
        sink=sink,
        dsn=database,
        name=name,
    )
    found, words = give_back(place)
    assert found.exact
    assert words == ()
