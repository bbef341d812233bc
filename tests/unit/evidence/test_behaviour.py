"""What versions of Spark do differently, each difference as real Spark showed it (tests/spark)."""

from __future__ import annotations

import json

import pytest

from holdfast.checkpoint import Checkpoint, read_checkpoint
from holdfast.evidence import NextStart, Query, Refuses, Resumes, RunsAgain, StartsFresh
from holdfast.evidence.case import Case
from holdfast.evidence.checkpoint_evidence import Evidence
from holdfast.evidence.collect import collect
from holdfast.evidence.next_start import predict_next_start
from holdfast.evidence.overview import overview_of
from holdfast.grades import Severity
from holdfast.judgement.judge import Verdict, judge
from holdfast.spark_versions import BEHAVIOURS, DIFFERENT, KNOWN, SparkVersion
from tests.unit.evidence.damaged import (
    WithEmptyState,
    damaged,
    empty,
    halve,
    on_line,
    read,
    remove,
    rewrite,
)

COUNTS, FORMAT_2 = "4.2-aggregation", "4.2-aggregation-format-2"
SCHEMA = "state/0/0/_metadata/schema"
PENDING = remove("commits/5")
NO_DELTA = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
NO_STATE = "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
BEFORE_4_2: tuple[SparkVersion, ...] = ((3, 5), (4, 0), (4, 1))


def case_of(checkpoint: Checkpoint, spark: SparkVersion) -> Case:
    overview = overview_of(Evidence(checkpoint=checkpoint, stores=()), spark=spark)
    return Case(checkpoint=checkpoint, overview=overview)


def test_every_version_has_its_row() -> None:
    assert BEHAVIOURS.keys() == {*KNOWN, *DIFFERENT}


@pytest.mark.parametrize("spark", [(3, 5), (4, 0)])
def test_commits_without_offsets_make_old_versions_write_batch_0_and_fail(
    spark: SparkVersion,
) -> None:
    checkpoint = read("4.0-stateless", remove("offsets"))
    found = predict_next_start(checkpoint, spark=spark)
    assert isinstance(found, StartsFresh)
    assert found.then == "CONCURRENT_STREAM_LOG_UPDATE"
    judged = judge(case_of(checkpoint, spark))
    assert judged.verdict is Verdict.REPEATS, "batch 0 reaches the sink at every start"
    assert judged.findings[0].severity is Severity.BLOCKS_RESTART


def test_without_the_first_commit_batch_0_is_committed() -> None:
    checkpoint = read("4.0-stateless", remove("offsets"), remove("commits/0"))
    found = predict_next_start(checkpoint, spark=(4, 0))
    assert isinstance(found, StartsFresh)
    assert found.then is None
    assert judge(case_of(checkpoint, (4, 0))).verdict is Verdict.REPEATS


@pytest.mark.parametrize("spark", BEFORE_4_2)
def test_a_pending_batch_without_settings_is_written_before_old_versions_fail(
    spark: SparkVersion,
) -> None:
    checkpoint = read("4.0-aggregation", PENDING, rewrite("offsets/5", on_line(1, "")))
    found = predict_next_start(checkpoint, spark=spark)
    assert isinstance(found, RunsAgain)
    assert (found.batch_id, found.then) == (5, "WatermarkTracker")
    assert isinstance(predict_next_start(checkpoint, spark=(4, 2)), Refuses)


@pytest.mark.parametrize(("spark", "after"), [((3, 5), 4), ((4, 0), None), ((4, 3), None)])
def test_a_pending_batch_without_its_offset_makes_newer_versions_read_everything_again(
    spark: SparkVersion, after: int | None
) -> None:
    checkpoint = read("4.0-aggregation", PENDING, rewrite("offsets/5", on_line(2, "-")))
    found = predict_next_start(checkpoint, spark=spark)
    assert isinstance(found, RunsAgain)
    assert [reread.after for reread in found.rereads] == [after]


@pytest.mark.parametrize(("spark", "in_batch"), [((3, 5), 6), ((4, 0), None), ((4, 3), None)])
def test_schemas_are_read_in_the_batch_by_3_5_alone(
    spark: SparkVersion, in_batch: int | None
) -> None:
    for damage in (rewrite(SCHEMA, empty), remove(SCHEMA, sidecars=False)):
        found = predict_next_start(read(COUNTS, damage), spark=spark)
        assert isinstance(found, Refuses)
        assert found.in_batch == in_batch


@pytest.mark.parametrize(
    ("spark", "error", "in_batch"),
    [
        ((3, 5), "Error reading delta file", 6),
        ((4, 1), NO_DELTA, 6),
        ((4, 2), NO_STATE, None),
    ],
)
def test_state_that_is_gone_fails_the_batch_or_the_start(
    spark: SparkVersion, error: str, in_batch: int | None
) -> None:
    known = Query(sources=1, operators=("stateStoreSave",))
    left = WithEmptyState(damaged(COUNTS, remove("state")).files)
    for query in (None, known):
        found = predict_next_start(read_checkpoint(left), spark=spark, query=query)
        assert isinstance(found, Refuses)
        assert (found.error, found.in_batch) == (error, in_batch)


def _miscount(raw: bytes) -> bytes:
    return json.dumps(json.loads(raw) | {"value": 1}).encode()


@pytest.mark.parametrize("spark", [(4, 1), (4, 2), (4, 3)])
def test_a_wrong_checksum_of_a_snapshot_stops_no_version(spark: SparkVersion) -> None:
    """4.1 does not compare it; from 4.2 on an older snapshot and the changes do."""
    found = _next_start(rewrite_checksum=True, spark=spark)
    assert isinstance(found, Resumes)


def test_a_snapshot_that_cannot_be_read_stops_4_1() -> None:
    assert isinstance(_next_start(rewrite_checksum=False, spark=(4, 1)), Refuses)


def _next_start(*, rewrite_checksum: bool, spark: SparkVersion) -> NextStart:
    snapshot = "state/0/0/[0-9]*.zip"
    damage = rewrite(f"{snapshot}.crc", _miscount) if rewrite_checksum else rewrite(snapshot, halve)
    return collect(damaged(FORMAT_2, damage), rows=True).next_start(spark)
