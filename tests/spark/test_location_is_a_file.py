"""What Spark does where a file is in the place of a checkpoint, as `inspect` predicts it."""

from __future__ import annotations

import uuid
from pathlib import Path

import obstore
import pytest
from pyspark.sql import DataFrame, SparkSession

from holdfast.evidence import Refuses
from holdfast.evidence.collect import collect
from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.storage import open_reader
from holdfast.storage.options import from_hadoop
from lab import S3
from tests.spark.restarts import add_file, agrees, did, predict, read_files, start


@pytest.fixture
def rows(spark: SparkSession, tmp_path: Path) -> DataFrame:
    files = tmp_path / "in"
    files.mkdir()
    add_file(files, 0, "a")
    return read_files(spark, files)


def test_spark_refuses_a_checkpoint_location_that_is_a_file(
    rows: DataFrame, tmp_path: Path
) -> None:
    place = tmp_path / "checkpoint"
    place.write_text("notes")
    happened = start(rows, place)
    assert did(happened, "FileAlreadyExistsException")
    assert place.read_text() == "notes"
    predicted = predict(place)
    assert isinstance(predicted, Refuses)
    assert predicted.code is RefusalCode.LOCATION_IS_A_FILE
    assert agrees(predicted, happened, rows_of=lambda _: [])


def test_spark_refuses_a_checkpoint_location_that_is_an_object(rows: DataFrame, s3: S3) -> None:
    place = f"restart/{uuid.uuid4().hex}"
    obstore.put(s3.store(), place, b"notes")
    happened = start(rows, f"s3a://lake/{place}")
    assert did(happened, "FileAlreadyExistsException")
    reader = open_reader(f"s3a://lake/{place}", from_hadoop(s3.spark_settings(), bucket="lake"))
    predicted = collect(reader).next_start((4, 2))
    assert agrees(predicted, happened, rows_of=lambda _: [])
