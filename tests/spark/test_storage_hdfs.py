"""The storage contract on a real HDFS: through the session's own client, and over HTTP.

`HOLDFAST_ALL=1` runs it whole.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from holdfast.errors import ConfigError, LocationError, ReadError
from holdfast.record.leases import take_lease
from holdfast.record.owner import this_process
from holdfast.sinks.session import place_of
from holdfast.spark.classic.hadoop_configuration import HadoopConfiguration
from holdfast.spark.classic.hadoop_files import HadoopReader
from holdfast.spark.classic.hadoop_writer import HadoopWriter
from holdfast.storage.hadoop_settings import from_session
from holdfast.storage.location import parse_location, spark_location
from holdfast.storage.open import open_reader
from holdfast.storage.write import Writer, open_writer
from holdfast.testing.storage_contract import StorageContract
from lab.hdfs import Hdfs

pytestmark = pytest.mark.sampled(40)
ILLEGAL = frozenset({"a:b"})
"""HDFS has no name with a colon."""


def place() -> str:
    return f"contract/{uuid.uuid4().hex}"


def writer(hdfs: Hdfs, spark: SparkSession, path: str) -> HadoopWriter:
    return HadoopWriter(parse_location(f"{hdfs.address}/{path}"), spark)


class TestHadoop(StorageContract):
    forbidden_names = ILLEGAL

    @pytest.fixture
    def storage(self, hdfs: Hdfs, spark: SparkSession) -> Writer:
        return writer(hdfs, spark, place())


class ReadOverHttp:
    """Changes through the session, and reads over HTTP."""

    def __init__(self, changes: HadoopWriter, location: str) -> None:
        self._changes, self._reads = changes, open_reader(location)

    def __getattr__(self, name: str) -> Any:
        is_change = name in ("put", "put_if_absent", "delete", "copy", "copy_from")
        return getattr(self._changes if is_change else self._reads, name)


class TestWebHdfs(StorageContract):
    forbidden_names = ILLEGAL

    @pytest.fixture
    def storage(self, hdfs: Hdfs, spark: SparkSession) -> Any:
        path = place()
        return ReadOverHttp(writer(hdfs, spark, path), f"{hdfs.web_address}/{path}")


@pytest.mark.parametrize("_", range(20))
def test_of_two_drivers_one_gets_the_lease(_: int, hdfs: Hdfs, spark: SparkSession) -> None:
    path = place()

    def race(_: int) -> int:
        lease = take_lease(writer(hdfs, spark, path), this_process(), takeover=True)
        return lease.epoch

    with ThreadPoolExecutor(4) as drivers:
        epochs = list(drivers.map(race, range(4)))
    assert sorted(epochs) == [1, 2, 3, 4]


def test_a_name_that_looks_like_a_status_is_a_name(hdfs: Hdfs, spark: SparkSession) -> None:
    storage = writer(hdfs, spark, place())
    name = "x; isDirectory=true; modification_time=1; y"
    storage.put(name, b"123")
    storage.put("plain", b"1")
    found = {info.path: info.size_bytes for info in storage.list().files}
    assert found == {name: 3, "plain": 1}


def test_a_view_is_refused_for_writing_wherever_it_leads(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its scheme says nothing of how a rename works there; read, it is like any other."""
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("22")
    spark.conf.set("fs.viewfs.mounttable.cl.link./disk", tmp_path.as_uri())
    view = parse_location("viewfs://cl/disk")
    with pytest.raises(ConfigError, match="ViewFileSystem creates a file for one of two"):
        HadoopWriter(view, spark)
    found = HadoopReader(view, spark).list()
    assert [(info.path, info.size_bytes) for info in found.files] == [("a", 1), ("b", 2)]


def test_a_path_means_the_same_place_for_spark_and_for_holdfast(
    hdfs: Hdfs, spark: SparkSession
) -> None:
    assert place_of(spark, "/streams").path == "/streams"
    session = spark.newSession()
    session.conf.set("fs.defaultFS", hdfs.address)
    with pytest.raises(ConfigError, match=f"Give {hdfs.address}/streams, or file:/streams"):
        place_of(session, "/streams")
    assert spark_location(place_of(session, "file:/streams")) == "file:/streams"
    assert place_of(session, "hdfs:///streams") == parse_location(f"{hdfs.address}/streams")
    with pytest.raises(ConfigError, match="names no host"):
        place_of(spark, "hdfs:///streams")


def test_settings_are_those_that_spark_itself_opens_a_store_with(spark: SparkSession) -> None:
    """Of core-site.xml, and of a cell that sets one later, as notebooks do."""
    session = spark.newSession()
    session.conf.set("fs.azure.account.key.acme.dfs.core.windows.net", "of-a-cell")
    location = parse_location("abfss://lake@acme.dfs.core.windows.net/x")
    assert from_session(HadoopConfiguration(session), location)["account_key"] == "of-a-cell"
    assert HadoopConfiguration(session).get("io.file.buffer.size")  # of core-default.xml


def test_a_namenode_that_is_away_is_an_error_and_not_an_empty_directory(
    spark: SparkSession,
) -> None:
    reader = HadoopReader(parse_location("hdfs://127.0.0.1:1/streams"), spark)
    with pytest.raises(ReadError, match=r"Hadoop answered: .*Connection"):
        reader.list()
    over_http = open_reader("webhdfs://127.0.0.1:1/streams")
    with pytest.raises(ReadError, match="Nothing answers at"):
        over_http.list()


def test_without_a_session_the_web_address_is_named() -> None:
    with pytest.raises(LocationError) as refused:
        open_reader("hdfs://namenode:8020/streams/readings")
    assert "webhdfs://namenode:9870/streams/readings" in refused.value.how
    with pytest.raises(LocationError, match="through a Spark session"):
        open_writer("hdfs://namenode:8020/streams")


@pytest.fixture
def retries(spark: SparkSession) -> Iterator[None]:
    """A NameNode that is away is asked once, not for minutes."""
    name = "spark.hadoop.ipc.client.connect.max.retries"
    spark.conf.set(name, "1")
    yield
    spark.conf.unset(name)
