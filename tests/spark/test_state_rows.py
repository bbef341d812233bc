"""Keys and values of state are what Spark's own reader says, row by row and version by version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from holdfast.checkpoint import Checkpoint, read_checkpoint
from holdfast.checkpoint.state import Operator, Store
from holdfast.checkpoint.state.live_rows import Question
from holdfast.checkpoint.state.row_codec import RowCodec, find_codec
from holdfast.checkpoint.state.scan import ScannedStore, scan_store
from holdfast.checkpoint.state.unsafe_row import Fields, NotDecoded
from holdfast.evidence.state import ROCKSDB, provider_of, unique_ids
from holdfast.spark_versions import version_text
from tests.spark.spark_version import SPARK
from tests.spark.test_kept_state import FORMAT, unpack
from tests.unit.checkpoint.archives import ARCHIVES, Archive, open_archive
from tests.unit.checkpoint.test_state_archives import answers, is_a_store, operator_of

pytestmark = pytest.mark.sampled(2)
Rows = Counter[str]


def stores(archive: Archive, checkpoint: Checkpoint) -> list[dict[str, Any]]:
    """Return the options of everything that Spark's reader could read when it was archived."""
    return [each for each in answers(archive) if is_a_store(operator_of(checkpoint, each), each)]


def spark_reads(name: str) -> bool:
    """Say whether Spark could read state of a fixture when it was archived."""
    return any(True for _ in answers(open_archive(name)))


def has_stores(name: str) -> bool:
    archive = open_archive(name)
    return bool(stores(archive, read_checkpoint(archive.checkpoint)))


MINE = [
    each for each in ARCHIVES if each.startswith(f"{version_text(SPARK)}-") and spark_reads(each)
]


def plain(value: Any) -> Any:
    """Return a value of ours or of PySpark's in one form."""
    if isinstance(value, Fields):
        return {name: plain(each) for name, each in value.items}
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return bytes(value) if isinstance(value, bytearray) else value


def codec_of(checkpoint: Checkpoint, operator: Operator, store: Store) -> RowCodec | NotDecoded:
    """Return what decodes a store, or the name of what stands against it."""
    entry = checkpoint.newest_readable
    conf = entry.metadata.conf if entry and entry.metadata else {}
    return find_codec(operator, store, conf, is_rocksdb=provider_of(operator) == ROCKSDB)


def ours(archive: Archive, checkpoint: Checkpoint, answer: dict[str, Any]) -> Rows:
    operator = operator_of(checkpoint, answer)
    rows: Rows = Counter()
    for store in operator.stores:
        if store.name != answer["storeName"]:
            continue
        codec = codec_of(checkpoint, operator, store)
        assert isinstance(codec, RowCodec), codec
        ids = unique_ids(checkpoint, operator).get((store.partition, store.name))
        found = scan_store(
            archive.checkpoint,
            ScannedStore(store=store, ids=ids),
            int(answer["batchId"]) + 1,
            question=Question(wanted=lambda _: True, most=10_000),
        )
        for each in found.kept:
            key, value = codec.key(each.key), codec.value(each.value or b"")
            rows[repr((store.partition, plain(key), plain(value)))] += 1
    return rows


def sparks(spark: SparkSession, place: Path, answer: dict[str, Any]) -> Rows:
    options = {name: str(answer[name]) for name in ("operatorId", "batchId", "storeName")}
    found = spark.read.format("statestore").options(**options).load(str(place)).collect()
    return Counter(
        repr((each.partition_id, *(plain(each[part].asDict(recursive=True)) for part in PARTS)))
        for each in found
    )


PARTS = ("key", "value")


@pytest.mark.parametrize("name", [each for each in MINE if has_stores(each)])
def test_rows_are_those_of_sparks_reader(
    spark: SparkSession,
    tmp_path: Path,
    *,
    name: str,
    record_property: Callable[[str, object], None],
) -> None:
    unpack(name, tmp_path)
    session = spark.newSession()
    assert session.streams.active == []
    if "format-2" in name:  # the reader of 4.2 takes it from the session
        session.conf.set(FORMAT, "2")
    archive = open_archive(name)
    checkpoint = read_checkpoint(archive.checkpoint)
    reads = stores(archive, checkpoint)
    rows = 0
    for answer in reads:
        found = ours(archive, checkpoint, answer)
        assert found.total() == answer["rows"]
        assert found == sparks(session, tmp_path / "checkpoint", answer), answer
        rows += found.total()
    record_property(str(provider_of(operator_of(checkpoint, reads[0]))), 1)
    record_property("reads", len(reads))
    record_property("rows", rows)


@pytest.mark.parametrize("name", [each for each in MINE if not has_stores(each)])
def test_what_is_not_decoded_is_said_by_name(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    archive = open_archive(name)
    checkpoint = read_checkpoint(archive.checkpoint)
    reasons = {
        found.what
        for operator in checkpoint.state
        for store in operator.stores
        if isinstance(found := codec_of(checkpoint, operator, store), NotDecoded)
    }
    assert reasons
    record_property("not decoded", "; ".join(sorted(reasons)))
