"""What is done to checkpoints by hand: each damage ends in a finding that names it.

The damages are those that real Spark was restarted on. L is the newest batch, here 5.
"""

from __future__ import annotations

import pytest

from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.overview import overview_of
from holdfast.spark_versions import parse_version
from holdfast.storage.memory import MemoryStorage
from holdfast.testing.rule_cases import findings_in
from tests.unit.checkpoint.archives import open_archive
from tests.unit.evidence.damaged import Damage, empty, every, on_line, remove, rewrite, swap

PARTITIONS = "spark.sql.shuffle.partitions"
PENDING = remove("commits/5")

# The damage, and the name of the finding in Spark 3.5 and in Spark 4.2.
DAMAGES: dict[str, tuple[Damage, str, str]] = {
    "commits/L deleted": (PENDING, "pending-batch", "pending-batch"),
    "commits/L and L-1 deleted": (
        *(remove("commits/[45]"), "batches-passed-over", "batches-passed-over"),
    ),
    "all commits deleted": (remove("commits"), "batches-passed-over", "batches-passed-over"),
    "offsets/L deleted, commits/L kept": (
        *(remove("offsets/5"), "commit-ahead-of-offsets", "commit-ahead-of-offsets"),
    ),
    "rolled back by one": (
        *(remove("offsets/5", "commits/5"), "logs-behind-state", "logs-behind-state"),
    ),
    "rolled back by three": (
        *(remove("offsets/[345]", "commits/[345]"), "logs-behind-state", "logs-behind-state"),
    ),
    "offsets/L-1 deleted": (
        remove("offsets/4"),
        "previous-offset-entry-missing",
        "previous-offset-entry-missing",
    ),
    "hole in older offsets": (remove("offsets/1"), "log-has-gaps", "log-has-gaps"),
    "hole in older commits": (remove("commits/1"), "log-has-gaps", "log-has-gaps"),
    "offsets/L empty": (rewrite("offsets/5", empty), "entry-unreadable", "entry-unreadable"),
    "commits/L empty": (rewrite("commits/5", empty), "entry-unreadable", "entry-unreadable"),
    "offsets/L edited, checksum stale": (
        rewrite("offsets/5", swap("batchTimestampMs", "batchTimestampMs "), sidecars=False),
        "entry-edited",
        "entry-edited",
    ),
    "metadata deleted": (remove("metadata"), "query-id-renewed", "metadata-missing"),
    "a needed state file deleted": (
        *(remove("state/0/0/6.*"), "state-file-missing", "state-file-missing"),
    ),
    "state/ deleted": (remove("state"), "state-absent", "state-absent"),
    "offsets/ deleted": (remove("offsets"), "commit-ahead-of-offsets", "offset-log-empty"),
    "offsets/ and commits/ deleted": (
        *(remove("offsets", "commits"), "starts-over", "checkpoint-not-empty"),
    ),
    "shuffle partitions not recorded": (
        every(PENDING, rewrite("offsets/5", swap(PARTITIONS, "renamed"))),
        "pending-batch",
        "partitions-not-pinned",
    ),
    "settings empty, batch pending": (
        every(PENDING, rewrite("offsets/5", on_line(1, ""))),
        "entry-without-settings",
        "entry-without-settings",
    ),
    "offset replaced by a dash": (
        rewrite("offsets/5", on_line(2, "-")),
        "source-reads-again",
        "source-reads-again",
    ),
    "version line v9": (
        rewrite("offsets/5", on_line(0, "v9")),
        "version-not-readable",
        "version-not-readable",
    ),
    "the newest entry of the source's log deleted": (
        *(remove("sources/0/4"), "source-log-entry-missing", "source-log-entry-missing"),
    ),
    "sources/ deleted": (remove("sources"), "source-log-entry-missing", "source-log-entry-missing"),
    "two line ends at the end": (
        rewrite("offsets/5", lambda raw: raw + b"\n\n"),
        "entry-with-other-sources",
        "entry-with-other-sources",
    ),
}


def found_in(version: str, damage: Damage) -> list[str]:
    files = dict(open_archive(f"{version[:3]}-aggregation").checkpoint.files)
    damage(files)
    overview = overview_of(collect(MemoryStorage(files)), spark=parse_version(version))
    return [
        each.name for each in findings_in(Case(checkpoint=overview.checkpoint, overview=overview))
    ]


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage_is_named(name: str) -> None:
    damage, in_3_5, in_4_2 = DAMAGES[name]
    assert in_3_5 in found_in("3.5", damage)
    assert in_4_2 in found_in("4.2.0", damage)


def test_a_commit_entry_without_a_body_is_fine() -> None:
    damage = rewrite("commits/5", lambda _: b"v1")
    assert found_in("4.2", damage) == found_in("4.2", every())
