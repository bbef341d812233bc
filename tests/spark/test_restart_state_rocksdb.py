"""What we say Spark will do, it does, when files of state in RocksDB are damaged.

The stream counts lines in two partitions and has run batches 0 to 4, so that version 5 is loaded;
version 4 when batch 4 is pending. Before each restart a new file waits.

    zip        a snapshot of each version
    changelog  what changed in each version, and a snapshot of version 3
    format-2   the same; the newest commit entry names the files by ids
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.damages import (
    TEMP,
    Damage,
    cut,
    empty,
    every,
    halve,
    nothing,
    on_table,
    pending,
    remove,
    rewrite,
    scramble,
    write,
)
from tests.spark.restarts import Original, Truth, original_of, truth_since
from tests.spark.spark_errors import NO_ROCKSDB_FILE as NO_FILE
from tests.spark.spark_errors import UNREADABLE
from tests.spark.spark_version import NotThere, of_version

pytestmark = pytest.mark.sampled(25)  # `python -m lab predictions` runs all of them

OTHER_SIZE = of_version(
    {
        (3, 5): "IllegalStateException: Copied",
        (4, 0): "CANNOT_LOAD_STATE_STORE.UNEXPECTED_FILE_SIZE",
    }
)
PASSED_OVER = truth_since({(3, 5): UNREADABLE, (4, 2): 5})
"""A damaged snapshot, whose changes are there."""
PASSED_OVER_IN_VAIN = of_version({(3, 5): UNREADABLE, (4, 2): NO_FILE})
NO_SNAPSHOT = of_version(
    {
        (3, 5): "CANNOT_LOAD_STATE_STORE.CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT",
        (4, 2): "CANNOT_LOAD_STATE_STORE.AUTO_SNAPSHOT_REPAIR_FAILED",
    }
)
CHECKSUM = "state/0/0/5_*.changelog.crc"
NO_MATCH = "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED"
NOT_IDS = "java.lang.NumberFormatException"
ID = "3b1e0000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def originals(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Original]:
    return lambda kind: original_of(kind, spark, tmp_path_factory)


def miscount(raw: bytes) -> bytes:
    """Return Spark's checksum of a file with another sum."""
    return json.dumps(json.loads(raw) | {"value": 1}).encode()


def if_written(truth: Truth) -> Truth:
    """Return what is true where Spark writes checksums of its own beside state files."""
    return truth_since({(3, 5): NotThere("Spark 4.0 writes no checksums"), (4, 1): truth})


def without_ids(_: bytes) -> bytes:
    return b'v2\n{"nextBatchWatermarkMs":0}'


def on_changes(version: str) -> dict[str, tuple[Damage, Truth]]:
    """Return damages to changes and to the snapshot of version 3; `version` makes their names."""
    (first, covered, base, after, newest) = (version.format(number) for number in range(1, 6))
    zip_of_0, zips = f"state/0/0/{base}.zip", f"state/0/*/{base}.zip"
    return {
        "clean": (nothing, 5),
        "pending": (remove("commits/4"), 4),
        "rewound-by-three": (remove("offsets/[2-4]", "commits/[2-4]"), 2),
        "newest-deleted": (remove(f"state/0/0/{newest}.changelog"), NO_FILE),
        "first-after-snapshot-deleted": (remove(f"state/0/0/{after}.changelog"), NO_FILE),
        "covered-deleted": (remove(*(f"state/0/*/{n}.changelog" for n in (first, covered))), 5),
        "snapshot-deleted": (remove(zips), 5),
        "snapshot-and-change-deleted": (remove(zips, f"state/0/0/{first}.changelog"), NO_FILE),
        "table-deleted": (on_table(zip_of_0, remove), PASSED_OVER),
        "table-and-change-deleted": (
            every(on_table(zip_of_0, remove), remove(f"state/0/0/{first}.changelog")),
            PASSED_OVER_IN_VAIN,
        ),
        "partition-deleted": (remove("state/0/1"), NO_FILE),
        "pending-newer-deleted": (pending(remove(f"state/0/*/{newest}.changelog")), 4),
        "pending-needed-deleted": (pending(remove(f"state/0/0/{after}.changelog")), NO_FILE),
        "newest-empty": (rewrite(f"state/0/0/{newest}.changelog", empty), UNREADABLE),
        "newest-cut": (rewrite(f"state/0/0/{newest}.changelog", halve), UNREADABLE),
        "newest-not-compressed": (rewrite(f"state/0/0/{newest}.changelog", scramble), UNREADABLE),
        "snapshot-cut": (rewrite(zips, halve), PASSED_OVER),
        "snapshot-cut-and-change-deleted": (
            every(rewrite(zips, halve), remove(f"state/0/0/{first}.changelog")),
            PASSED_OVER_IN_VAIN,
        ),
    }


CASES: dict[str, dict[str, tuple[Damage, Truth]]] = {
    "zip": {
        "clean": (nothing, 5),
        "pending": (remove("commits/4"), 4),
        "rewound-by-three": (remove("offsets/[2-4]", "commits/[2-4]"), 2),
        "newest-deleted": (remove("state/0/0/5.zip"), NO_FILE),
        "older-deleted": (remove("state/0/*/[1-4].zip"), 5),
        "table-deleted": (on_table("state/0/0/5.zip", remove), UNREADABLE),
        "tables-deleted": (remove("state/0/0/SSTs"), UNREADABLE),
        "partition-deleted": (remove("state/0/1"), NO_FILE),
        "pending-newer-deleted": (pending(remove("state/0/*/5.zip")), 4),
        "pending-needed-deleted": (pending(remove("state/0/0/4.zip")), NO_FILE),
        "foreign-table": (write(f"state/0/0/SSTs/000099-{ID}.sst", b""), 5),
        "leftover": (write("state/0/0/" + TEMP.format("6.zip"), b""), 5),
        "newest-empty": (rewrite("state/0/0/5.zip", empty), UNREADABLE),
        "newest-cut": (rewrite("state/0/0/5.zip", halve), UNREADABLE),
        "newest-not-a-zip": (rewrite("state/0/0/5.zip", scramble), UNREADABLE),
        "pending-newer-not-a-zip": (pending(rewrite("state/0/*/5.zip", scramble)), 4),
        "newest-with-a-stale-sidecar": (
            rewrite("state/0/0/.5.zip.crc", lambda raw: raw[:-4] + b"\0\0\0\0", sidecars=False),
            UNREADABLE,
        ),
        "table-empty": (on_table("state/0/0/5.zip", lambda path: rewrite(path, empty)), OTHER_SIZE),
        "table-cut": (on_table("state/0/0/5.zip", lambda path: rewrite(path, halve)), OTHER_SIZE),
        "table-cut-by-hand": (on_table("state/0/0/5.zip", cut), UNREADABLE),
        "table-scrambled": (
            on_table("state/0/0/5.zip", lambda path: rewrite(path, scramble)),
            UNREADABLE,
        ),
    },
    "changelog": {
        **on_changes("{}"),
        "two-without-commit": (remove("commits/3", "commits/4"), 4),
        "no-commits": (remove("commits"), 4),
        "newest-offset-deleted": (remove("offsets/4"), (3, "CONCURRENT_STREAM_LOG_UPDATE")),
    },
    "format-2": {
        **on_changes("{}_*"),
        "snapshot-deleted": (remove("state/0/*/3_*.zip"), NO_SNAPSHOT),
        "snapshot-and-change-deleted": (
            remove("state/0/*/3_*.zip", "state/0/0/1_*.changelog"),
            NO_SNAPSHOT,
        ),
        "two-without-commit": (remove("commits/3", "commits/4"), NO_FILE),
        "no-commits": (remove("commits"), NOT_IDS),
        "newest-offset-deleted": (remove("offsets/4"), NO_FILE),
        "newest-commit-without-ids": (rewrite("commits/4", without_ids), NOT_IDS),
        "newest-commit-without-body": (rewrite("commits/4", lambda _: b"v2"), NOT_IDS),
        "pending-commit-before-without-ids": (
            pending(rewrite("commits/3", without_ids)),
            NOT_IDS,
        ),
        "file-of-another-id": (write(f"state/0/0/5_{ID}.changelog", b""), 5),
        "checksum-deleted": (remove(CHECKSUM), if_written(5)),
        "checksum-empty": (rewrite(CHECKSUM, empty), if_written(UNREADABLE)),
        "checksum-wrong": (rewrite(CHECKSUM, miscount), if_written(NO_MATCH)),
        "checksum-of-change-wrong": (
            rewrite("state/0/0/4_*.changelog.crc", miscount),
            if_written(NO_MATCH),
        ),
        "checksum-of-covered-wrong": (
            rewrite("state/0/0/1_*.changelog.crc", miscount),
            if_written(5),
        ),
        "checksum-of-snapshot-wrong": (rewrite("state/0/0/3_*.zip.crc", miscount), if_written(5)),
    },
}


@pytest.mark.parametrize(
    ("kind", "damage", "truth"),
    [
        pytest.param(kind, *case, id=f"{kind}-{name}")
        for kind, cases in CASES.items()
        for name, case in cases.items()
    ],
)
def test_spark_does_what_we_say(
    originals: Callable[[str], Original], *, kind: str, damage: Damage, truth: Truth, tmp_path: Path
) -> None:
    originals(kind).play(damage, truth, tmp_path / "checkpoint")
