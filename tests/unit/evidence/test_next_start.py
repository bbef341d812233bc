"""Predictions for versions and situations that the table on real Spark 4.2 does not reach."""

from __future__ import annotations

import pytest

from holdfast.checkpoint import Checkpoint, read_checkpoint
from holdfast.errors import ReadError
from holdfast.evidence import Refuses, Resumes, RunsAgain, StartsFresh, Unknown
from holdfast.evidence.next_start import predict_next_start
from holdfast.spark_versions import SparkVersion
from holdfast.storage.memory import MemoryStorage
from tests.unit.checkpoint.archives import ARCHIVES, open_archive

ENTRY = (
    b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,'
    b'"conf":{"spark.sql.shuffle.partitions":"2"}}\n5'
)
UNPINNED = b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n5'
TEMP = "offsets/.0.3b1e0000-0000-4000-8000-000000000000.tmp"


def checkpoint(
    files: dict[str, bytes] | None = None, *, offsets: str = "", commits: str = ""
) -> Checkpoint:
    """Make a checkpoint with these batches in its logs: `offsets="3 4"`."""
    storage = {"metadata": b'{"id":"6f0c0000-0000-4000-8000-000000000000"}', **(files or {})}
    storage |= {f"offsets/{batch}": ENTRY for batch in offsets.split()}
    storage |= {f"commits/{batch}": b"v1\n{}" for batch in commits.split()}
    return read_checkpoint(MemoryStorage(storage))


def without_metadata(found: Checkpoint) -> Checkpoint:
    files = {f"offsets/{batch}": ENTRY for batch in found.offsets}
    return read_checkpoint(MemoryStorage(files))


def test_a_purged_log_resumes_like_any_other() -> None:
    predicted = predict_next_start(checkpoint(offsets="98 99", commits="98 99"))
    assert isinstance(predicted, Resumes)
    assert predicted.batch_id == 100
    assert predicted.follows_from == ("offsets/99", "commits/99")


def test_batches_that_are_passed_over_are_named() -> None:
    predicted = predict_next_start(checkpoint(offsets="1 2 3 4 5", commits="1 2"))
    assert isinstance(predicted, RunsAgain)
    assert (predicted.batch_id, predicted.passed_over) == (5, (3, 4))


@pytest.mark.parametrize(("spark", "refuses"), [((3, 5), False), ((4, 1), False), ((4, 2), True)])
def test_without_metadata_older_versions_go_on_under_a_new_id(
    spark: tuple[int, int], *, refuses: bool
) -> None:
    predicted = predict_next_start(without_metadata(checkpoint(offsets="0")), spark=spark)
    assert isinstance(predicted, Refuses if refuses else RunsAgain)


@pytest.mark.parametrize(
    ("spark", "error"),
    [((4, 1), "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"), ((4, 2), "assertion failed")],
)
def test_commits_without_offsets_are_refused(spark: tuple[int, int], error: str) -> None:
    predicted = predict_next_start(checkpoint(commits="0 1"), spark=spark)
    assert isinstance(predicted, Refuses)
    assert predicted.error == error


def test_the_leftover_of_the_first_batch_stops_version_4_1_and_later() -> None:
    left = read_checkpoint(
        MemoryStorage({"metadata": b'{"id":"6f0c0000-0000-4000-8000-000000000000"}', TEMP: b""})
    )
    assert isinstance(predict_next_start(left, spark=(4, 0)), StartsFresh)
    predicted = predict_next_start(left, spark=(4, 1))
    assert isinstance(predicted, Refuses)
    assert predicted.follows_from == (TEMP,)


class Forbidden(MemoryStorage):
    """A store that lists and does not let us read."""

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        if path == "offsets/1":
            raise ReadError(path, why="403", how="Ask.")
        return super().read(path, start=start, length=length)


def test_what_may_not_be_read_makes_it_unknown_and_not_refused() -> None:
    files = {
        "metadata": b'{"id":"6f0c0000-0000-4000-8000-000000000000"}',
        "offsets/0": ENTRY,
        "offsets/1": ENTRY,
    }
    predicted = predict_next_start(read_checkpoint(Forbidden(files)))
    assert isinstance(predicted, Unknown)
    assert predicted.follows_from == ("offsets/1",)


@pytest.mark.parametrize("name", [name for name in ARCHIVES if "killed" not in name])
def test_real_checkpoints_resume_or_run_their_pending_batch_again(name: str) -> None:
    archive = open_archive(name)
    found = read_checkpoint(archive.checkpoint)
    major, minor = name.split("-", maxsplit=1)[0].split(".")
    predicted = predict_next_start(found, spark=(int(major), int(minor)))
    if name.endswith("async"):
        assert isinstance(predicted, Unknown)
        assert "async progress tracking" in predicted.because
        return
    if name.endswith("continuous"):
        assert isinstance(predicted, Unknown)
        assert "continuous processing" in predicted.because
        return
    pending = max(found.offsets) > max(found.commits, default=-1)
    assert isinstance(predicted, RunsAgain if pending else Resumes)
    assert predicted.then is None


def test_offsets_behind_commits_run_again_and_fail_at_every_start() -> None:
    predicted = predict_next_start(checkpoint(offsets="2 3", commits="2 3 4"))
    assert isinstance(predicted, RunsAgain)
    assert (predicted.batch_id, predicted.then) == (3, "CONCURRENT_STREAM_LOG_UPDATE")


def test_a_forgotten_checksum_stops_the_entry_it_belongs_to() -> None:
    blamed = "Multiple streaming queries are concurrently using"
    again = predict_next_start(checkpoint({"commits/.4.crc": b"crc\0"}, offsets="3 4", commits="3"))
    assert isinstance(again, RunsAgain)
    assert again.then == blamed
    before = predict_next_start(
        checkpoint({"offsets/.5.crc": b"crc\0"}, offsets="3 4", commits="3 4")
    )
    assert isinstance(before, Refuses)
    assert before.error == blamed
    after = predict_next_start(
        checkpoint({"commits/.5.crc": b"crc\0"}, offsets="3 4", commits="3 4")
    )
    assert isinstance(after, Resumes)
    assert after.then == blamed


@pytest.mark.parametrize("path", ["metadata", "offsets/4", "offsets/3", "commits/4"])
def test_a_needed_entry_that_cannot_be_understood_stops_the_start(path: str) -> None:
    files = {
        "metadata": b'{"id":"6f0c0000-0000-4000-8000-000000000000"}',
        "offsets/3": ENTRY,
        "offsets/4": ENTRY,
        "commits/4": b"v1\n{}",
        path: b"",
    }
    predicted = predict_next_start(read_checkpoint(MemoryStorage(files)))
    assert isinstance(predicted, Refuses)
    assert predicted.follows_from == (path,)
    assert "the file is empty" in predicted.because


@pytest.mark.parametrize(
    ("spark", "refuses"),
    [((3, 5), False), ((4, 1), False), ((4, 2, 0), True), ((4, 2), False), ((4, 3), False)],
)
def test_a_pending_batch_without_pinned_partitions_stops_release_4_2_0_alone(
    spark: SparkVersion, *, refuses: bool
) -> None:
    files = {"offsets/4": UNPINNED, "offsets/3": UNPINNED}
    predicted = predict_next_start(checkpoint(files, commits="3"), spark=spark)
    assert isinstance(predicted, Refuses if refuses else RunsAgain)


def test_an_unfinished_repartition_stops_version_4_2_and_later() -> None:
    more = ENTRY.replace(b'"2"', b'"4"')
    found = checkpoint({"offsets/4": more}, offsets="3", commits="3")
    assert isinstance(predict_next_start(found, spark=(4, 1)), RunsAgain)
    predicted = predict_next_start(found, spark=(4, 2))
    assert isinstance(predicted, Refuses)
    assert predicted.error == "STREAMING_UNFINISHED_REPARTITION_DETECTED"


def test_a_batch_number_of_nineteen_digits_is_not_counted_up_to() -> None:
    predicted = predict_next_start(checkpoint(offsets=f"{2**63 - 2} {2**63 - 1}", commits="0"))
    assert isinstance(predicted, RunsAgain)
    assert predicted.passed_over == (2**63 - 2,)
