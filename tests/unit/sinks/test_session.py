"""Places as a session has them: Holdfast and Spark mean the same one, or the start is refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from holdfast.errors import ConfigError
from holdfast.sinks import session
from holdfast.sinks.session import place_of, store_options
from holdfast.storage.location import parse_location
from tests.stand_ins import stand_in

HDFS = "hdfs://namenode:8020"


@pytest.fixture(autouse=True)
def _port(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session of a test is its own `fs.defaultFS`."""
    port = SimpleNamespace(default_file_system=lambda spark: spark)
    monkeypatch.setattr(session, "find_port", lambda spark: None if spark is None else port)


@pytest.mark.parametrize(
    ("text", "default", "place"),
    [
        ("/lake/gold", "file:///", "/lake/gold"),
        ("file:///lake/gold", HDFS, "file:///lake/gold"),
        ("hdfs:///lake/gold", HDFS, f"{HDFS}/lake/gold"),
        ("hdfs://other/lake/gold", HDFS, "hdfs://other/lake/gold"),
        ("s3a://lake/gold", HDFS, "s3a://lake/gold"),
    ],
)
def test_a_place_is_where_spark_looks_for_it(text: str, default: str, place: str) -> None:
    found, expected = place_of(stand_in(default), text), parse_location(place)
    assert (found.scheme, found.bucket, found.path) == (
        expected.scheme,
        expected.bucket,
        expected.path,
    )


@pytest.mark.parametrize(
    ("text", "default", "why"),
    [
        ("/lake/gold", HDFS, f"Give {HDFS}/lake/gold, or file:/lake/gold"),
        ("hdfs:///lake/gold", "file:///", "names no host"),
    ],
)
def test_a_place_that_spark_takes_for_another_is_refused(text: str, default: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        place_of(stand_in(default), text)


def test_without_a_session_a_path_is_on_the_disk() -> None:
    assert place_of(None, "/lake/gold").path == "/lake/gold"


def test_a_store_is_opened_with_the_settings_of_its_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"spark.hadoop.fs.s3a.bucket.lake.endpoint": "http://127.0.0.1:2"}
    port = SimpleNamespace(hadoop_settings=lambda _: settings)
    monkeypatch.setattr(session, "port_of", lambda _: port)
    spark = stand_in(None)
    found = store_options(spark, parse_location("s3a://lake/gold"))
    assert found == {"endpoint": "http://127.0.0.1:2"}
    assert store_options(spark, parse_location("/lake/gold")) == {}
