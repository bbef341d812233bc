"""Which LogStore on S3 is accepted, warned of or refused, by its class and what the session has."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from holdfast.sinks.delta import log_store
from holdfast.sinks.delta.columns import DeltaTableError
from holdfast.sinks.delta.log_store import (
    LOG_STORE,
    SETTING,
    check_log_store,
    spark_settings,
    warn_of_log_store,
)
from holdfast.spark.plans import LogStoreSetup
from holdfast.storage.location import parse_location
from tests.stand_ins import stand_in

ON_S3 = parse_location("s3a://lake/readings")
ON_DISK = parse_location("/lake/readings")


def configure(
    monkeypatch: pytest.MonkeyPatch,
    name: str | None,
    *,
    is_loaded: bool = True,
    sends_condition: bool = True,
) -> None:
    setup = LogStoreSetup(
        class_name=name, is_loaded=is_loaded, sends_condition=sends_condition, hadoop="3.4.1"
    )
    port = SimpleNamespace(describe_log_store=lambda *_: setup)
    monkeypatch.setattr(log_store, "port_of", lambda _: port)


SPARK = stand_in(SimpleNamespace())


@pytest.mark.parametrize("name", [LOG_STORE, "io.delta.storage.S3DynamoDBLogStore"])
def test_one_for_several_writers_passes_without_a_word(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    configure(monkeypatch, name)
    check_log_store(SPARK, ON_S3, "The table")
    assert warn_of_log_store(SPARK, ON_S3, "The table") == ()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (None, "safe for a single writer only"),
        ("io.delta.storage.S3SingleDriverLogStore", "safe for a single writer only"),
        ("com.example.OurLogStore", "does not know whether it is safe"),
        ("com.example.ConditionalPutLogStore", "does not know whether it is safe"),
    ],
)
def test_one_for_a_single_writer_or_unknown_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, name: str | None, said: str
) -> None:
    configure(monkeypatch, name)
    check_log_store(SPARK, ON_S3, "The table")
    (warning,) = warn_of_log_store(SPARK, ON_S3, "The table")
    assert said in warning
    assert "hf.spark_settings()" in warning
    assert warn_of_log_store(SPARK, ON_DISK, "The table") == ()


@pytest.mark.parametrize("store", ["GCS", "Azure", "HDFS", "Local"])
def test_one_for_another_store_is_refused(monkeypatch: pytest.MonkeyPatch, store: str) -> None:
    configure(monkeypatch, f"io.delta.storage.{store}LogStore")
    with pytest.raises(DeltaTableError, match="replace each other's commits"):
        check_log_store(SPARK, ON_S3, "The table")
    check_log_store(SPARK, ON_DISK, "The table")


def test_ours_without_its_jar_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, LOG_STORE, is_loaded=False)
    with pytest.raises(DeltaTableError, match="its jar is not on the class path"):
        check_log_store(SPARK, ON_S3, "The table")


def test_ours_on_an_older_hadoop_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, LOG_STORE, sends_condition=False)
    with pytest.raises(DeltaTableError, match=r"Hadoop 3\.4\.1 sends no conditional PUT"):
        check_log_store(SPARK, ON_S3, "The table")


def test_the_settings_turn_it_on() -> None:
    assert spark_settings() == {SETTING: LOG_STORE, "spark.delta.logStore.s3.impl": LOG_STORE}
    assert spark_settings("/jars/log-store.jar")["spark.jars"] == "/jars/log-store.jar"
