"""Delta tables that a catalog names: the name leads to the same place while the stream runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.proof.multiset import compare
from holdfast.spark.port import port_of
from tests.spark.file_stream import wait_until_given_up
from tests.spark.restarts import add_file


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """A session with two databases, one at a place that a URI writes in another way."""
    found = spark.newSession()
    places = {"here": tmp_path / "a place, 100%25", "there": tmp_path / "there"}
    for name, place in places.items():
        quoted = str(place).replace("'", "\\'")
        found.sql(f"CREATE DATABASE {name} LOCATION '{quoted}'")
    yield found
    for name in places:
        found.sql(f"DROP DATABASE {name} CASCADE")


def begin(spark: SparkSession, files: Path, table: str, **given: Any) -> Any:
    reader = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(files))
    root = str(files.parent / "streams")
    return hf.start(reader, stream="readings", root=root, into=hf.Delta(table=table), **given)


def add(files: Path, number: int) -> None:
    files.mkdir(exist_ok=True)
    add_file(files, number, f"row {number}")


@pytest.mark.parametrize("table", ["readings", "here.readings", "spark_catalog.here.readings"])
def test_a_place_that_a_uri_writes_in_another_way_is_the_same(
    session: SparkSession, tmp_path: Path, table: str
) -> None:
    session.sql("USE here")
    files = tmp_path / "in"
    for number in range(2):
        add(files, number)
        try:
            begin(session, files, table, trigger={"availableNow": True}).awaitTermination()
        finally:
            wait_until_given_up()
    assert port_of(session).catalog_location(session, table), "it was looked at"
    found = [row.value for row in session.table("here.readings").collect()]
    assert compare(["row 0", "row 1"], found).exact


def test_a_program_that_goes_on_to_another_database_does_not_move_its_stream(
    session: SparkSession, tmp_path: Path
) -> None:
    session.sql("USE here")
    files = tmp_path / "in"
    add(files, 0)
    query = begin(session, files, "readings")
    try:
        query.processAllAvailable()
        session.sql("USE there")
        session.sql("CREATE TABLE readings (value string) USING delta")
        add(files, 1)
        query.processAllAvailable()
    finally:
        query.stop()
        wait_until_given_up()
    found = [row.value for row in session.table("here.readings").collect()]
    assert compare(["row 0", "row 1"], found).exact
    assert session.table("there.readings").count() == 0
