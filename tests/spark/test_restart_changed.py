"""What Spark does when a query with state is started changed.

The stream counted lines in batches 0 to 4; it is started with another query or other settings, and
a new file waits. A checkpoint cannot tell that; what we say follows from what is known of the query
beside it, which is its sources and operators and not its schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from holdfast.evidence import Query
from tests.spark.damages import Damage, nothing, remove
from tests.spark.restarts import (
    CHANGELOG,
    COUNTS,
    FORMAT_2,
    ROCKSDB,
    STORE,
    Original,
    Rows,
    agrees,
    count_lines,
    counted,
    new_session,
    original_of,
    predict,
    start,
)
from tests.spark.spark_errors import NO_DELTA, NO_FORMAT_2, NO_OPERATOR_METADATA, OTHER_LOG
from tests.spark.spark_version import NotThere, of_version

OTHER_OPERATORS = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
# 3.5 compares schemas in the task of partition 0. In another task the rows can fail first.
_OTHER_SCHEMA = "org.apache.spark.sql.execution.streaming.state."
OTHER_KEY = of_version({(3, 5): _OTHER_SCHEMA, (4, 0): "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"})
OTHER_VALUE = of_version({(3, 5): _OTHER_SCHEMA, (4, 0): "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"})
DISTINCT = Query(sources=1, operators=("dedupe",))
STATELESS = Query(sources=1, operators=())
BOTH = Query(sources=1, operators=("stateStoreSave", "dedupe"))
OPERATOR = "state/0/_metadata/metadata"
SCHEMA = "state/0/0/_metadata/schema"


@pytest.fixture(scope="module")
def originals(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Original]:
    return lambda kind: original_of(kind, spark, tmp_path_factory)


@dataclass(frozen=True, kw_only=True)
class Change:
    """A changed query, and either the words of the error or the rows of the next batch."""

    query: Callable[[DataFrame], DataFrame]
    mode: str = "update"
    known: Query = COUNTS
    is_foreseen: bool = True
    damage: Damage = nothing
    error: str | None = None
    rows: Rows = field(default_factory=list)


def key() -> Column:
    return F.col("value").alias("key")


def lines_unchanged(lines: DataFrame) -> DataFrame:
    return lines.select(key())


def distinct_lines(lines: DataFrame) -> DataFrame:
    return lines.select(key()).dropDuplicates(["key"])


def count_distinct_lines(lines: DataFrame) -> DataFrame:
    return count_lines(lines.dropDuplicates(["value"]))


def add_up(lines: DataFrame) -> DataFrame:
    return lines.groupBy(key()).agg(F.sum(F.lit(1.0)))


def if_written(change: Change) -> Change | NotThere:
    """Return the change without operators' metadata, where Spark writes them."""
    if of_version({(3, 5): False, (4, 0): True}):
        return replace(change, damage=remove(OPERATOR))
    return NO_OPERATOR_METADATA


REPLACED_UNNOTICED = Change(query=distinct_lines, known=DISTINCT, rows=[("k5",)])
REMOVED_UNNOTICED = Change(
    query=lines_unchanged, known=STATELESS, mode="append", rows=[("a",), ("b",), ("k5",)]
)
CHANGES: dict[str, Change | NotThere] = {
    "nothing": Change(query=count_lines, rows=counted(5)),
    "source-added": Change(
        query=lambda lines: count_lines(lines.union(lines)),
        known=Query(sources=2, operators=("stateStoreSave",)),
        error="There are [1] sources in the checkpoint offsets and now there are [2] sources",
    ),
    "operator-replaced": of_version(
        {
            (3, 5): REPLACED_UNNOTICED,
            (4, 0): Change(query=distinct_lines, known=DISTINCT, error=OTHER_OPERATORS),
        }
    ),
    "operator-removed": of_version(
        {
            (3, 5): REMOVED_UNNOTICED,
            (4, 0): Change(
                query=lines_unchanged, known=STATELESS, mode="append", error=OTHER_OPERATORS
            ),
        }
    ),
    "operator-added": Change(
        query=count_distinct_lines,
        known=BOTH,
        error=of_version({(3, 5): NO_DELTA, (4, 0): OTHER_OPERATORS}),
    ),
    "value-of-another-type": Change(query=add_up, error=OTHER_VALUE, is_foreseen=False),
    "value-added": Change(
        query=lambda lines: lines.groupBy(key()).agg(F.count("*"), F.max("value")),
        error=OTHER_VALUE,
        is_foreseen=False,
    ),
    "value-of-the-same-type": Change(
        query=lambda lines: lines.groupBy(key()).agg(F.count(F.when(F.col("value") == "a", 1))),
        rows=[("a", 6), ("b", 5), ("k5", 0)],
    ),
    "key-of-another-type": Change(
        query=lambda lines: lines.groupBy(F.length("value")).count(),
        error=OTHER_KEY,
        is_foreseen=False,
    ),
    "key-added": Change(
        query=lambda lines: lines.groupBy(key(), F.length("value")).count(),
        error=OTHER_KEY,
        is_foreseen=False,
    ),
    "key-renamed": Change(query=lambda lines: lines.groupBy("value").count(), rows=counted(5)),
    "key-computed-otherwise": Change(
        query=lambda lines: lines.groupBy(F.upper("value")).count(),
        rows=[("A", 1), ("B", 1), ("K5", 1)],
    ),
    "output-mode": Change(
        query=count_lines,
        mode="complete",
        rows=[("a", 6), ("b", 6), *((f"k{number}", 1) for number in range(6))],
    ),
    "operator-replaced-unnoticed": if_written(REPLACED_UNNOTICED),
    "operator-removed-unnoticed": if_written(REMOVED_UNNOTICED),
    "operator-added-without-metadata": if_written(
        Change(query=count_distinct_lines, known=BOTH, error=NO_DELTA)
    ),
    "value-of-another-type-unnoticed": Change(
        query=add_up, damage=remove(SCHEMA), rows=[("a", 1.0), ("b", 1.0), ("k5", 1.0)]
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_changed_query_is_refused_or_goes_on(
    originals: Callable[[str], Original], *, change: Change | NotThere, tmp_path: Path
) -> None:
    if isinstance(change, NotThere):
        pytest.skip(change.reason)
    original = originals("deltas")
    checkpoint = original.damaged(tmp_path / "checkpoint", change.damage)
    predicted = predict(checkpoint, change.known)
    happened = start(change.query(original.files), checkpoint, mode=change.mode)
    told = f"{predicted}\n{happened.batches}\n{happened.error}"
    assert agrees(predicted, happened, rows_of=counted) == change.is_foreseen, told
    if change.error is None:
        assert (happened.batches, happened.error) == ({5: change.rows}, None)
    else:
        assert happened.batches == {}
        assert change.error in (happened.error or "")


def in_format_2(error: str) -> str | NotThere | None:
    """Return the error of 4.2 where the setting differs: 4.3 takes the format from the log."""
    return of_version({(3, 5): NO_FORMAT_2, (4, 0): OTHER_LOG, (4, 2): error, (4, 3): None})


STARTED_WITH: dict[str, tuple[str, Mapping[str, str], str | NotThere | None]] = {
    "hdfs-with-rocksdb": ("deltas", ROCKSDB, None),
    "hdfs-with-more-partitions": ("deltas", {"spark.sql.shuffle.partitions": "3"}, None),
    "hdfs-with-another-codec": ("deltas", {STORE + "compression.codec": "zstd"}, None),
    "hdfs-with-format-2": (
        "deltas",
        {STORE + "checkpointFormatVersion": "2"},
        in_format_2("STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED"),
    ),
    "zip-with-hdfs": ("zip", {}, None),
    "zip-with-changelog": ("zip", CHANGELOG, None),
    "zip-with-format-2": ("zip", FORMAT_2, in_format_2("CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT")),
    "changelog-with-zip": ("changelog", ROCKSDB, None),
    "changelog-with-format-2": (
        "changelog",
        FORMAT_2,
        in_format_2("CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT"),
    ),
    "format-2-with-format-1": (
        "format-2",
        CHANGELOG,
        in_format_2("CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"),
    ),
}


@pytest.mark.parametrize(("kind", "settings", "error"), STARTED_WITH.values(), ids=STARTED_WITH)
def test_other_settings_are_overruled_or_refused(
    originals: Callable[[str], Original],
    *,
    kind: str,
    settings: Mapping[str, str],
    error: str | NotThere | None,
    tmp_path: Path,
) -> None:
    if isinstance(error, NotThere):
        pytest.skip(error.reason)
    original = originals(kind)
    changed = Original(new_session(original.session, settings), original.home)
    happened = changed.start(original.damaged(tmp_path / "checkpoint", nothing))
    assert happened.batches == ({5: counted(5)} if error is None else {})
    assert (error or "") in (happened.error or "")
    assert (error is None) == (happened.error is None)
