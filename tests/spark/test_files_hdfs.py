"""The files sink on a real HDFS: the contract of sinks, through the session's own client."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.sinks.sink import SinkSpec
from holdfast.spark.classic.hadoop_mover import HadoopMover
from holdfast.storage.location import parse_location
from holdfast.testing.sink_contract import SinkContract
from lab.hdfs import Hdfs
from tests.spark.files_read import rows_read

pytestmark = pytest.mark.sampled(4)


class TestFilesOnHdfs(SinkContract):
    @pytest.fixture
    def sink(self, hdfs: Hdfs) -> SinkSpec:
        return hf.Files(f"{hdfs.address}/lake/{uuid.uuid4().hex}/readings")

    def rows(self, sink: Any, spark: Any) -> list[tuple[Any, ...]]:
        return rows_read(sink, spark, "id bigint, name string")


def test_a_move_is_made_once_and_never_over_something(hdfs: Hdfs, spark: SparkSession) -> None:
    place = parse_location(f"{hdfs.address}/moves/{uuid.uuid4().hex}")
    mover = HadoopMover(place, spark)
    mover.put_if_absent("from/a", b"a")
    for each in ("into/empty", "into/full"):
        mover.make_directory(each)
    mover.put_if_absent("into/full/b", b"b")
    for taken in ("into/empty", "into/full", "into/full/b", "gone/to"):
        assert not mover.move("from", taken)
    assert mover.read("from/a") == b"a"
    assert [mover.move("from", f"into/{each}") for each in "xy"] == [True, False]
    assert mover.read("into/x/a") == b"a"
    mover.delete_tree("into")
    mover.delete_tree("into")
    assert not mover.is_directory("into")
