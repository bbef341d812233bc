"""What we say Spark will do, it does, when files of the state are damaged.

The stream counts lines in two partitions of HDFS-backed state and has run batches 0 to 4, so that
version 5 is loaded; version 4 when batch 4 is pending. Before each restart a new file waits.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from holdfast.evidence import Resumes, RunsAgain
from tests.spark.damages import (
    TEMP,
    Damage,
    cut,
    empty,
    every,
    halve,
    nothing,
    on_line,
    pending,
    remove,
    rewrite,
    scramble,
    write,
)
from tests.spark.restarts import (
    Original,
    Rows,
    Truth,
    agrees,
    counted,
    original_of,
    predict,
    truth_since,
)
from tests.spark.spark_errors import NEWER_LOG, NO_DELTA, NO_OPERATOR_METADATA, UNREADABLE
from tests.spark.spark_version import of_version

pytestmark = pytest.mark.sampled(25)  # `python -m lab predictions` runs all of them

NO_STATE = of_version(
    {(3, 5): NO_DELTA, (4, 2): "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"}
)
NO_MATCH = "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED"
SCHEMA = "state/0/0/_metadata/schema"
OPERATOR = "state/0/_metadata/metadata"
PASSED_OVER = truth_since({(3, 5): UNREADABLE, (4, 2): 5})
"""A damaged snapshot, whose deltas are there."""


@pytest.fixture(scope="module")
def originals(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Original]:
    return lambda kind: original_of(kind, spark, tmp_path_factory)


def if_written(truth: Truth) -> Truth:
    """Return what is true where Spark writes operators' metadata."""
    return truth_since({(3, 5): NO_OPERATOR_METADATA, (4, 0): truth})


def replace(path: str, by: str) -> Damage:
    def damage(checkpoint: Path) -> None:
        shutil.copyfile(checkpoint / by, checkpoint / path)

    return damage


LISTED: dict[str, dict[str, tuple[Damage, Truth]]] = {
    "deltas": {
        "newest-deleted": (remove("state/0/0/5.delta"), NO_DELTA),
        "newest-deleted-by-hand": (remove("state/0/0/5.delta", sidecars=False), NO_DELTA),
        "newest-of-last-partition-deleted": (remove("state/0/1/5.delta"), NO_DELTA),
        "one-between-deleted": (remove("state/0/0/3.delta"), NO_DELTA),
        "first-deleted": (remove("state/0/0/1.delta"), NO_DELTA),
        "rewound-newer-deleted": (remove("offsets/4", "commits/4", "state/0/*/5.delta"), 4),
        "rewound-needed-deleted": (remove("offsets/4", "commits/4", "state/0/0/4.delta"), NO_DELTA),
        "pending-newer-deleted": (pending(remove("state/0/*/5.delta")), 4),
        "pending-newer-deleted-in-one": (pending(remove("state/0/0/5.delta")), 4),
        "pending-newer-deleted-by-hand": (
            pending(remove("state/0/*/5.delta", sidecars=False)),
            4,
        ),
        "pending-needed-deleted": (pending(remove("state/0/0/4.delta")), NO_DELTA),
        "state-deleted": (remove("state"), NO_STATE),
        "state-deleted-pending": (pending(remove("state")), NO_STATE),
        "state-empty": (remove("state/0"), NO_STATE),
        "operator-empty": (remove("state/0/*"), NO_DELTA),
        "first-partition-deleted": (remove("state/0/0"), NO_DELTA),
        "last-partition-deleted": (remove("state/0/1"), NO_DELTA),
        "operator-metadata-deleted": (remove(OPERATOR), if_written(5)),
        "operator-metadata-deleted-by-hand": (
            remove(OPERATOR, sidecars=False),
            if_written("Rename destination"),
        ),
        "schema-deleted": (remove(SCHEMA), 5),
        "schema-deleted-by-hand": (remove(SCHEMA, sidecars=False), "Rename destination"),
        "leftover": (write("state/0/0/" + TEMP.format("6.delta"), b""), 5),
        "forgotten-sidecar": (write("state/0/0/.6.delta.crc", b"crc\0\0\0\2\0"), 5),
        "newer-than-the-logs": (write("state/0/0/7.delta", b""), 5),
        "foreign-file": (write("state/0/0/5.delta.bak", b""), 5),
        "foreign-operator": (write("state/1/0/5.delta", b""), 5),
    },
    "snapshot": {
        "clean": (nothing, 5),
        "covered-deltas-deleted": (remove("state/0/*/[1-3].delta"), 5),
        "delta-after-it-deleted": (remove("state/0/0/4.delta"), NO_DELTA),
        "snapshot-deleted": (remove("state/0/*/3.snapshot"), 5),
        "snapshot-and-delta-deleted": (
            remove("state/0/0/3.snapshot", "state/0/0/1.delta"),
            NO_DELTA,
        ),
    },
}

OPENED: dict[str, dict[str, tuple[Damage, Truth]]] = {
    "deltas": {
        "newest-empty": (rewrite("state/0/0/5.delta", empty), UNREADABLE),
        "newest-cut": (rewrite("state/0/0/5.delta", halve), UNREADABLE),
        "newest-cut-by-hand": (cut("state/0/0/5.delta"), UNREADABLE),
        "newest-not-compressed": (rewrite("state/0/0/5.delta", scramble), UNREADABLE),
        "newest-without-its-last-byte": (
            rewrite("state/0/0/5.delta", lambda raw: raw[:-1]),
            truth_since({(3, 5): 5, (4, 1): UNREADABLE, (4, 2): 5}),  # only 4.1 has its checksum
        ),
        "first-cut": (rewrite("state/0/0/1.delta", halve), UNREADABLE),
        "pending-newer-not-compressed": (pending(rewrite("state/0/*/5.delta", scramble)), 4),
        "operator-metadata-empty": (rewrite(OPERATOR, empty), if_written(5)),
        "operator-metadata-cut": (rewrite(OPERATOR, halve), if_written(5)),
        "operator-metadata-of-a-newer-version": (
            rewrite(OPERATOR, on_line(0, lambda _: "v9")),
            if_written(5),
        ),
        "schema-empty": (rewrite(SCHEMA, empty), "java.io.EOFException"),
        "schema-cut": (rewrite(SCHEMA, halve), "java.io.EOFException"),
        "schema-of-a-newer-version": (
            rewrite(SCHEMA, lambda raw: raw.replace(b"v2", b"v9", 1)),
            NEWER_LOG,
        ),
    },
    "snapshot": {
        "empty": (rewrite("state/0/*/3.snapshot", empty), PASSED_OVER),
        "cut": (rewrite("state/0/*/3.snapshot", halve), PASSED_OVER),
        "not-compressed": (rewrite("state/0/*/3.snapshot", scramble), PASSED_OVER),
        "cut-and-delta-deleted": (
            every(rewrite("state/0/0/3.snapshot", halve), remove("state/0/0/1.delta")),
            of_version({(3, 5): UNREADABLE, (4, 2): NO_DELTA}),
        ),
    },
}

CASES = [
    pytest.param(kind, *case, id=f"{kind}-{name}")
    for table in (LISTED, OPENED)
    for kind, cases in table.items()
    for name, case in cases.items()
]


@pytest.fixture
def original(originals: Callable[[str], Original]) -> Original:
    return originals("deltas")


@pytest.mark.parametrize(("kind", "damage", "truth"), CASES)
def test_spark_does_what_we_say(
    originals: Callable[[str], Original], *, kind: str, damage: Damage, truth: Truth, tmp_path: Path
) -> None:
    originals(kind).play(damage, truth, tmp_path / "checkpoint")


class TestStateThatCannotBeLoaded:
    def test_fails_the_batch_after_it_was_planned_and_the_sink_called(
        self, original: Original, tmp_path: Path
    ) -> None:
        lost = "state/0/0/5.delta"
        checkpoint = original.damaged(tmp_path / "checkpoint", remove(lost))
        assert original.start(checkpoint).called == [5]
        assert (checkpoint / "offsets/5").exists()
        assert not (checkpoint / "commits/5").exists()
        shutil.copyfile(original.home / "checkpoint" / lost, checkpoint / lost)
        assert isinstance(predict(checkpoint), RunsAgain)
        again = original.start(checkpoint)
        assert (again.batches, again.error) == ({5: counted(5)}, None)

    def test_fails_the_batch_after_it_was_planned_when_there_is_none(
        self, original: Original, tmp_path: Path
    ) -> None:
        checkpoint = original.damaged(tmp_path / "checkpoint", remove("state"))
        assert original.start(checkpoint).called == of_version({(3, 5): [5], (4, 2): []})
        assert (checkpoint / "offsets/5").exists()

    def test_fails_nothing_while_nothing_waits(self, original: Original, tmp_path: Path) -> None:
        checkpoint = original.damaged(tmp_path / "checkpoint", nothing)
        original.start(checkpoint)
        remove("state")(checkpoint)
        happened = original.start(checkpoint)
        assert (happened.batches, happened.error) == ({}, None)


@pytest.mark.parametrize("kind", ["deltas", "format-2"])
def test_without_its_state_a_query_that_is_not_known_is_not_said_to_go_on(
    originals: Callable[[str], Original], kind: str, tmp_path: Path
) -> None:
    original = originals(kind)
    checkpoint = original.damaged(tmp_path / "checkpoint", remove("state"))
    predicted = predict(checkpoint)
    happened = original.start(checkpoint)
    assert happened.batches == {}
    if kind == "format-2":  # commit entries name the state files
        assert agrees(predicted, happened, rows_of=counted), f"{predicted}\n{happened.error}"
    else:
        assert NO_STATE in (happened.error or "")
        assert isinstance(predicted, Resumes)
        assert predicted.unless == "the query is stateful: there is no state/ directory"


def test_a_delta_of_another_version_is_believed(original: Original, tmp_path: Path) -> None:
    older = replace("state/0/0/5.delta", by="state/0/0/4.delta")
    happened = original.start(original.damaged(tmp_path / "checkpoint", older))
    believed: tuple[dict[int, Rows], str] = ({5: [("a", 5), ("b", 6), ("k5", 1)]}, "None")
    batches, words = of_version({(3, 5): believed, (4, 1): ({}, NO_MATCH), (4, 2): believed})
    assert happened.batches == batches
    assert words in str(happened.error)
