"""The last batches are run again by real Spark: exactly their range, and nothing twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.apply.apply import apply_plan
from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.ids import BatchId
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Plan
from holdfast.plan.requests import Request
from tests.spark.file_stream import Stream

pytestmark = pytest.mark.sampled(1)

FILES = 5


@pytest.fixture
def stream(stream: Stream) -> Stream:
    for number in range(FILES):
        stream.add(number)
    return stream


def rows_of(spark: SparkSession, table: Path) -> Counter[str]:
    return Counter(row.value for row in spark.read.format("delta").load(str(table)).collect())


def rows(count: int) -> Counter[str]:
    return Counter(f"row {number}" for number in range(count))


def replay(stream: Stream, batches: int) -> Plan:
    asked = Request(goal="replay", batches=batches, output="restore")
    plan = make_plan(asked, DiagnoseRequest(location="readings", root=str(stream.root)))
    assert isinstance(plan, Plan), plan
    return plan


@pytest.mark.parametrize("batches", [1, 3, FILES])
def test_the_last_batches_are_run_again_as_one(
    stream: Stream, tmp_path: Path, batches: int
) -> None:
    spark, table = stream.spark, tmp_path / "lake"
    stores = Stores(session=lambda: spark)
    stream.run(into=hf.Delta(path=str(table)))
    assert rows_of(spark, table) == rows(FILES)
    plan = replay(stream, batches)
    apply_plan(plan, stores, allowed=plan.words)
    assert rows_of(spark, table) == rows(FILES - batches)
    stream.add(FILES)  # comes after the replayed range, not into it
    stream.run(into=hf.Delta(path=str(table)))
    assert rows_of(spark, table) == rows(FILES + 1)
    first = FILES - batches
    again = stream.checkpoint / f"offsets/{first}"
    entry = parse_offset_entry("offsets", BatchId(first), again.read_bytes())
    assert isinstance(entry, OffsetEntry)
    assert entry.offsets[0].text == f'{{"logOffset":{FILES - 1}}}'
    newest = max(int(each.name) for each in stream.checkpoint.glob("commits/[0-9]*"))
    assert newest == first + 1


def test_a_replay_of_several_batches_is_taken_back(stream: Stream, tmp_path: Path) -> None:
    spark, table = stream.spark, tmp_path / "lake"
    stores = Stores(session=lambda: spark)
    stream.run(into=hf.Delta(path=str(table)))
    before = {path: path.read_bytes() for path in stream.checkpoint.rglob("*") if path.is_file()}
    plan = replay(stream, 3)
    undo = plan_undo(apply_plan(plan, stores, allowed=plan.words), stores)
    assert isinstance(undo, Plan), undo
    apply_plan(undo, stores, allowed=undo.words)
    after = {path: path.read_bytes() for path in stream.checkpoint.rglob("*") if path.is_file()}
    assert after == before
    assert rows_of(spark, table) == rows(FILES)
    stream.add(FILES)
    stream.run(into=hf.Delta(path=str(table)))
    assert rows_of(spark, table) == rows(FILES + 1)
