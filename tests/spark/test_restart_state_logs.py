"""What we say Spark will do, it does, when the query has state and its logs are damaged.

The stream counts lines in state and has run batches 0 to 4; before each restart a new file waits.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from holdfast.evidence import Resumes, RunsAgain
from tests.spark.damages import (
    Damage,
    empty,
    every,
    halve,
    nothing,
    on_line,
    pending,
    remove,
    rewrite,
)
from tests.spark.restarts import COUNTS, Original, Rows, Truth, original_of, predict, truth_since
from tests.spark.spark_errors import NEWER_LOG, NO_DELTA, OTHER_LOG
from tests.spark.spark_version import of_version

pytestmark = pytest.mark.sampled(25)  # `python -m lab predictions` runs all of them

NOT_EMPTY = "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"
PARTITIONS = "spark.sql.shuffle.partitions"


@pytest.fixture(scope="module")
def original(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Original:
    return original_of("deltas", spark, tmp_path_factory)


def delay(line: str) -> str:
    entry = json.loads(line)
    entry["batchTimestampMs"] += 1
    return json.dumps(entry)


def pin(partitions: str | None) -> Damage:
    """Change how many partitions the newest entry pins."""
    return rewrite("offsets/4", on_line(1, lambda line: _pin(line, partitions)))


def _pin(line: str, partitions: str | None) -> str:
    entry = json.loads(line)
    del entry["conf"][PARTITIONS]
    if partitions:
        entry["conf"][PARTITIONS] = partitions
    return json.dumps(entry)


def without_offset(batch: int) -> Damage:
    return rewrite(f"offsets/{batch}", on_line(2, lambda _: "-"))


UNPINNED_BEFORE = rewrite("offsets/3", on_line(1, lambda line: _pin(line, None)))
WITHOUT_METADATA = rewrite("offsets/4", on_line(1, lambda _: ""))
NEVER_COMMITTED = remove("commits", "offsets/[1-4]", "sources/0/[1-4]")

CASES: dict[str, tuple[Damage, Truth]] = {
    "clean": (nothing, 5),
    "pending": (remove("commits/4"), 4),
    "two-without-commit": (remove("commits/3", "commits/4"), 4),
    "no-commits": (remove("commits"), 4),
    "newest-offset-deleted": (remove("offsets/4"), (3, "CONCURRENT_STREAM_LOG_UPDATE")),
    "rewound": (remove("offsets/4", "commits/4"), 4),
    "rewound-by-hand": (
        remove("offsets/4", "commits/4", sidecars=False),
        "Multiple streaming queries are concurrently using",
    ),
    "rewound-by-three": (remove("offsets/[2-4]", "commits/[2-4]"), 2),
    "rewound-by-three-with-sources": (
        remove("offsets/[2-4]", "commits/[2-4]", "sources/0/[2-4]"),
        2,
    ),
    "entry-before-newest-deleted": (remove("offsets/3"), "batch 3 doesn't exist"),
    "entry-further-down-deleted": (remove("offsets/1", "commits/1"), 5),
    "newest-offset-empty": (rewrite("offsets/4", empty), "Incomplete log file"),
    "newest-offset-edited": (rewrite("offsets/4", on_line(1, delay), sidecars=False), 5),
    "newest-offset-of-a-newer-version": (
        rewrite("offsets/4", on_line(0, lambda _: "v9")),
        NEWER_LOG,
    ),
    "newest-offset-with-a-newline": (rewrite("offsets/4", lambda raw: raw + b"\n"), 5),
    "newest-offset-with-two-newlines": (
        rewrite("offsets/4", lambda raw: raw + b"\n\n"),
        "There are [2] sources in the checkpoint offsets",
    ),
    "newest-offset-from-windows": (
        rewrite("offsets/4", lambda raw: raw.replace(b"\n", b"\r\n")),
        5,
    ),
    "newest-offset-without-metadata": (WITHOUT_METADATA, "WatermarkTracker"),
    "pending-without-metadata": (
        pending(WITHOUT_METADATA),
        truth_since({(3, 5): (4, "WatermarkTracker"), (4, 2): "Batch 4 metadata not found"}),
    ),
    "entry-before-newest-without-offset": (without_offset(3), 5),
    "newest-commit-empty": (rewrite("commits/4", empty), "Incomplete log file"),
    "newest-commit-without-body": (rewrite("commits/4", lambda _: b"v1"), 5),
    "newest-commit-of-a-newer-version": (
        rewrite("commits/4", on_line(0, lambda _: "v9")),
        truth_since({(3, 5): NEWER_LOG, (4, 0): OTHER_LOG, (4, 2): NEWER_LOG}),
    ),
    "no-partitions-pinned": (every(pin(None), UNPINNED_BEFORE), 5),
    "pending-no-partitions-pinned": (pending(every(pin(None), UNPINNED_BEFORE)), 4),
    "pending-no-partitions-pinned-by-newest": (pending(pin(None)), 4),
    "pending-no-partitions-pinned-before": (pending(UNPINNED_BEFORE), 4),
    "more-partitions-pinned": (pin("3"), NO_DELTA),
    "pending-more-partitions-pinned": (
        pending(pin("3")),
        truth_since({(3, 5): NO_DELTA, (4, 2): "STREAMING_UNFINISHED_REPARTITION_DETECTED"}),
    ),
    "metadata-deleted": (
        remove("metadata"),
        truth_since({(3, 5): 5, (4, 2): "STREAMING_CHECKPOINT_MISSING_METADATA_FILE"}),
    ),
    "offsets-deleted": (
        remove("offsets"),
        truth_since(
            {
                (3, 5): (0, "CONCURRENT_STREAM_LOG_UPDATE"),
                (4, 1): NOT_EMPTY,
                (4, 2): "assertion failed",
            }
        ),
    ),
    "logs-deleted": (remove("offsets", "commits"), truth_since({(3, 5): 0, (4, 1): NOT_EMPTY})),
    "logs-and-metadata-deleted": (
        remove("offsets", "commits", "metadata"),
        truth_since({(3, 5): 0, (4, 1): NOT_EMPTY}),
    ),
    "logs-and-state-deleted": (remove("offsets", "commits", "state"), 0),
    "everything-but-metadata-deleted": (remove("offsets", "commits", "sources", "state"), 0),
    "newest-source-entry-deleted": (remove("sources/0/4"), "batch 4 doesn't exist"),
    "pending-newest-source-entry-deleted": (
        pending(remove("sources/0/4")),
        "batch 4 doesn't exist",
    ),
    "rewound-with-sources": (remove("offsets/4", "commits/4", "sources/0/4"), 4),
    "older-source-entry-deleted": (remove("sources/0/2"), "sources/0/2 doesn't exist"),
    "newest-source-entry-empty": (rewrite("sources/0/4", empty), "Incomplete log file"),
    "newest-source-entry-cut": (rewrite("sources/0/4", halve), "Unexpected end-of-input"),
    "sources-deleted": (remove("sources"), "batch 4 doesn't exist"),
    "first-batch-pending": (NEVER_COMMITTED, 0),
    "first-batch-pending-without-state": (every(NEVER_COMMITTED, remove("state")), 0),
}


@pytest.mark.parametrize(("damage", "truth"), CASES.values(), ids=list(CASES))
def test_spark_does_what_we_say(
    original: Original, *, damage: Damage, truth: Truth, tmp_path: Path
) -> None:
    original.play(damage, truth, tmp_path / "checkpoint")


Wrong = tuple[Damage, int | None, dict[int, Rows]]
"""A damage, the batch after which a source is read again, and what reaches the sink."""
ONE_AGAIN: Rows = [("a", 6), ("b", 6), ("k4", 1), ("k5", 1)]
TWICE = [(f"k{number}", 2) for number in range(4)]
ALL_AGAIN: Rows = [("a", 10), ("b", 10), *TWICE, ("k4", 1), ("k5", 1)]
WRONG: dict[str, Wrong] = {
    "newest": (without_offset(4), 3, {5: [("a", 7), ("b", 7), ("k4", 2), ("k5", 1)]}),
    "pending": (
        pending(without_offset(4)),
        of_version({(3, 5): 3, (4, 0): None}),
        {4: [], 5: of_version({(3, 5): ONE_AGAIN, (4, 0): ALL_AGAIN})},
    ),
    "before-pending": (
        pending(without_offset(3)),
        None,
        {
            4: [("a", 9), ("b", 9), *TWICE, ("k4", 1)],
            5: [("a", 10), ("b", 10), ("k5", 1)],
        },
    ),
}


@pytest.mark.parametrize(("damage", "after", "batches"), WRONG.values(), ids=list(WRONG))
def test_an_offset_that_is_a_dash_makes_spark_count_twice(
    original: Original,
    *,
    damage: Damage,
    after: int | None,
    batches: dict[int, Rows],
    tmp_path: Path,
) -> None:
    checkpoint = original.damaged(tmp_path / "checkpoint", damage)
    predicted = predict(checkpoint, COUNTS)
    happened = original.start(checkpoint)
    assert (happened.batches, happened.error) == (batches, None)
    assert isinstance(predicted, Resumes | RunsAgain)
    assert predicted.batch_id == min(batches)
    assert [reread.after for reread in predicted.rereads] == [after]
