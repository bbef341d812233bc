"""The pure parts of `hf.Kafka`: its spec, its ledger record, its settings and its columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

import holdfast as hf
from holdfast.errors import ConfigError
from holdfast.record.contracts import SinkContract
from holdfast.sinks.kafka.columns import (
    check_columns,
    find_bad_header,
    messages_of,
    partitions_of,
)
from holdfast.sinks.kafka.record import (
    LedgerRecord,
    Pins,
    decode_record,
    encode_record,
    is_too_long,
    key_of,
    ledger_topic,
    transactional_id,
)
from holdfast.sinks.kafka.settings import OWNED, client_settings, read_settings
from holdfast.sinks.kinds import sink_of
from tests.ledger_rows import ROW

RECORD = LedgerRecord(
    row=ROW, pins=Pins(topic_id="a", ledger_id="b", begins={0: 3}, ends={0: 5, 11: 7})
)


def test_a_sink_comes_back_from_its_contract() -> None:
    sink = hf.Kafka("env:SERVERS", topic="readings.v1", name="out", timeout_s=30)
    contract = SinkContract(
        kind="kafka", place=sink.place, label=sink.label, keys=(), secret=sink.secret
    )
    assert sink.place == "kafka:readings.v1@env:SERVERS"
    assert sink_of(contract) == sink
    assert sink_of(msgspec.structs.replace(contract, secret=None)) is None
    assert "SERVERS" not in repr(sink)


@pytest.mark.parametrize(
    "given",
    [
        {"topic": ""},
        {"topic": "a b"},
        {"topic": ".."},
        {"topic": "x" * 250},
        {"topic": "t", "name": "a/b"},
        {"topic": 5},
        {"topic": "t", "timeout_s": "60"},
        {"topic": "t", "timeout_s": 0},
        {"topic": "t", "timeout_s": 901},
    ],
)
def test_what_kafka_would_not_take_is_refused_at_once(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        hf.Kafka("env:SERVERS", **given)


def test_a_ledger_record_comes_back_as_it_was() -> None:
    assert decode_record(encode_record(RECORD)) == RECORD
    later = msgspec.structs.replace(RECORD, row=replace(ROW, digest="d"))
    assert decode_record(encode_record(later)) == later


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"format": "other"},
        {"epoch": "1"},
        {"topic_id": None},
        {"ledger_id": 1},
        {"ends": []},
        {"ends": {"x": 1}},
        {"ends": {"0": "1"}},
        {"begins": {"0": None}},
    ],
    ids=str,
)
def test_what_is_not_a_ledger_record_is_not_taken_for_one(changes: dict[str, Any]) -> None:
    values = msgspec.json.decode(encode_record(RECORD))
    assert decode_record(msgspec.json.encode({**values, **changes})) is None


@pytest.mark.parametrize("value", [b"", b"\xff", b"[]", b"null", b'{"format": 1}'])
def test_any_bytes_can_be_in_a_ledger_topic(value: bytes) -> None:
    assert decode_record(value) is None


def test_every_stream_and_sink_has_names_of_its_own() -> None:
    assert ledger_topic("readings", "out") == "holdfast.readings.out"
    assert key_of("readings", "out") == b"readings/out"
    assert transactional_id("readings", "out") == "holdfast.readings.out"
    assert transactional_id("orders", "eu-raw") != transactional_id("orders-eu", "raw")
    assert is_too_long(ledger_topic("readings", "x" * 249))
    assert not is_too_long("x" * 249)


def test_servers_or_properties_are_read() -> None:
    assert read_settings(" a:9092,b:9092\n") == {"bootstrap.servers": "a:9092,b:9092"}
    text = "# a comment\nbootstrap.servers = a:9092\n\nsasl.password=x=y \n"
    assert read_settings(text) == {"bootstrap.servers": "a:9092", "sasl.password": "x=y"}


@pytest.mark.parametrize("name", sorted(OWNED))
def test_what_exactly_once_needs_cannot_be_set(name: str) -> None:
    assert name in str(read_settings(f"bootstrap.servers=a\n{name}=1"))


@pytest.mark.parametrize("text", ["sasl.password=hunter2", "bootstrap.servers=a\nhunter2"])
def test_properties_that_cannot_be_used_are_refused_without_showing_them(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        client_settings(lambda: text)
    assert "hunter2" not in str(raised.value)


STRUCT = StructType([StructField("key", StringType()), StructField("value", BinaryType())])


def test_the_columns_of_sparks_own_sink_are_taken() -> None:
    fields = [
        StructField("key", BinaryType()),
        StructField("value", StringType()),
        StructField("headers", ArrayType(STRUCT)),
        StructField("partition", IntegerType()),
    ]
    check_columns(StructType(fields), "it")
    check_columns(StructType(fields[1:2]), "it")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("topic", StringType()),
        ("value", LongType()),
        ("partition", LongType()),
        ("headers", StringType()),
        ("event_time", StringType()),
    ],
)
def test_a_column_that_would_be_lost_or_changed_is_refused(name: str, kind: Any) -> None:
    fields = {"value": StructField("value", StringType()), name: StructField(name, kind)}
    with pytest.raises(ConfigError, match=name):
        check_columns(StructType(list(fields.values())), "it")


def test_rows_become_records() -> None:
    rows = [
        {"value": "v", "partition": 1, "headers": [{"key": "h", "value": None}]},
        {"value": None, "partition": None, "headers": None},
    ]
    (batch,) = pa.Table.from_pylist(rows).to_batches()
    assert messages_of(batch) == [
        {"value": b"v", "partition": 1, "headers": [("h", None)]},
        {"value": None},
    ]
    assert partitions_of(batch) == {1}
    (batch,) = pa.Table.from_pylist(
        [{"key": "é", "value": ""}, {"key": None, "value": "v"}]
    ).to_batches()
    assert messages_of(batch) == [
        {"key": "é".encode(), "value": b""},
        {"key": None, "value": b"v"},
    ]
    assert partitions_of(batch) == set()


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ([None, [{"key": "a", "value": None}], []], None),
        ([None, None], None),
        ([[{"key": "a", "value": b"x"}, None]], "a header is NULL"),
        ([[], [{"key": None, "value": b"x"}]], "a header has no name"),
    ],
)
def test_a_header_that_kafka_has_no_form_for_is_found(headers: list[Any], why: str | None) -> None:
    fields = [pa.field("key", pa.string()), pa.field("value", pa.binary())]
    column = pa.array([[{"key": None, "value": None}], *headers], pa.list_(pa.struct(fields)))
    batch = pa.record_batch([pa.array(["v"] * len(column)), column], names=["value", "headers"])
    assert find_bad_header(batch.slice(1)) == why
    assert find_bad_header(pa.record_batch([pa.array(["v"])], names=["value"])) is None
