"""Answers that would mislead whoever is on call: each was once given wrong."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from holdfast.checkpoint import Checkpoint, read_checkpoint
from holdfast.checkpoint.state import StateFileKind
from holdfast.errors import ReadError
from holdfast.evidence import Refuses, Resumes, RunsAgain, StartsFresh, Unknown, overview_of
from holdfast.evidence.collect import collect
from holdfast.evidence.next_start import predict_next_start
from holdfast.evidence.progress import find_ranges
from holdfast.evidence.state import Looked
from holdfast.ids import BatchId
from holdfast.storage.location import parse_location
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.read import Listing
from tests.fuzz import writers
from tests.unit.checkpoint.archives import open_archive


def files_of(name: str, *without: str) -> dict[str, bytes]:
    """Return the files of an archive without those whose path holds one of these words."""
    files = open_archive(name).checkpoint.files
    return {path: raw for path, raw in files.items() if not any(word in path for word in without)}


def read(files: dict[str, bytes]) -> Checkpoint:
    return read_checkpoint(MemoryStorage(files))


def test_a_store_of_a_join_that_is_gone_fails_the_batch() -> None:
    predicted = predict_next_start(read(files_of("4.2-join", "state/0/1/right-keyToNumValues")))
    assert isinstance(predicted, Refuses)
    assert predicted.follows_from == ("state/0/1/right-keyToNumValues",)
    assert predicted.in_batch == 4


def test_the_same_of_a_join_that_says_nothing_of_its_stores() -> None:
    predicted = predict_next_start(
        read(files_of("3.5-join", "state/0/1/right-keyToNumValues")), spark=(3, 5)
    )
    assert isinstance(predicted, Refuses)


@pytest.mark.parametrize(
    "name", ["4.2-two-sources-offsets-v2", "4.2-aggregation-format-2", "4.2-transform-with-state"]
)
def test_a_version_that_cannot_read_it_will_not_start_it(name: str) -> None:
    found = collect(MemoryStorage(files_of(name))).next_start((3, 5))
    assert isinstance(found, Refuses)
    assert "Spark 3.5 cannot read it" in found.because


def test_state_format_2_of_4_0_is_read_by_4_0_alone() -> None:
    overview = overview_of(collect(open_archive("4.0-aggregation-format-2-zip").checkpoint))
    assert (overview.writers.versions, overview.readers.versions) == (((4, 0),), ((4, 0),))
    assert isinstance(overview.next_start, Resumes)
    assert isinstance(overview.elsewhere[4, 2], Refuses)


def test_a_damaged_snapshot_is_passed_over_only_from_4_2_on() -> None:
    checkpoint = read(files_of("4.2-aggregation"))
    snapshots = [
        f"{store.directory}/{file.name}"
        for store in checkpoint.state[0].stores
        for file in store.files
        if file.kind is StateFileKind.SNAPSHOT
    ]
    seen = Looked(damaged=frozenset(snapshots))
    assert isinstance(predict_next_start(checkpoint, looked=seen), Resumes)
    older = predict_next_start(checkpoint, spark=(4, 1), looked=seen)
    assert isinstance(older, Refuses)
    assert "is damaged" in older.because


@pytest.mark.parametrize("content", [b"", b"v1\n{", b"PK"])
def test_a_damaged_compact_file_of_a_source_is_seen(content: bytes) -> None:
    files = files_of("4.2-file-source")
    compact = max(path for path in files if path.endswith(".compact") and "/." not in path)
    predicted = predict_next_start(read({**files, compact: content}))
    assert isinstance(predicted, Refuses)
    assert predicted.follows_from == (compact,)


def test_one_of_two_sources_without_its_log_is_seen() -> None:
    predicted = predict_next_start(read(files_of("4.2-two-sources", "sources/")))
    assert isinstance(predicted, Refuses)
    assert predicted.error == "doesn't exist"


class Forbidden(MemoryStorage):
    """A store that lists and does not let us read state."""

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        if path.endswith(".zip"):
            raise ReadError(path, why="403", how="Ask.")
        return super().read(path, start=start, length=length)


def test_state_that_may_not_be_read_is_unknown_and_not_missing() -> None:
    predicted = collect(Forbidden(files_of("4.2-aggregation-rocksdb"))).next_start()
    assert isinstance(predicted, Unknown)
    assert "could not be read" in predicted.because


def test_a_moved_checkpoint_of_transform_with_state_is_seen() -> None:
    checkpoint = read(files_of("4.2-transform-with-state"))
    moved = replace(checkpoint, location=parse_location("/elsewhere"))
    predicted = predict_next_start(moved)
    assert isinstance(predicted, Refuses)
    assert "moved or copied" in predicted.because


def test_partitions_above_the_pinned_number_are_not_needed() -> None:
    """As after a repartition to fewer: the old ones stay where they are."""
    files = files_of("4.2-aggregation", "state/0/1/6.")
    fewer = {
        path: raw.replace(b'shuffle.partitions":"2"', b'shuffle.partitions":"1"')
        for path, raw in files.items()
    }
    assert isinstance(predict_next_start(read(files)), Refuses)
    assert isinstance(predict_next_start(read(fewer)), Resumes)


@pytest.mark.parametrize(("line", "there"), [(b"", 0), (b'{"logOffset":4}\n\n', 2)])
def test_another_number_of_sources_than_before_is_refused(line: bytes, there: int) -> None:
    files = files_of("4.2-aggregation")
    head = files["offsets/5"].rpartition(b"\n")[0]
    predicted = predict_next_start(read({**files, "offsets/5": head + b"\n" + line}))
    assert isinstance(predicted, Refuses)
    assert predicted.error == f"There are [{there}] sources in the checkpoint offsets"


class Running(MemoryStorage):
    """A query that finishes a batch after its commits were listed."""

    lists = 0

    def list(self, directory: str = "") -> Listing:
        if directory == "offsets" and not self.lists:
            self.lists += 1
            self.files["offsets/7"] = self.files["offsets/6"]
            self.files["commits/7"] = self.files["commits/6"]
        return super().list(directory)


def test_a_batch_that_is_finished_meanwhile_is_neither_pending_nor_passed_over() -> None:
    found = read_checkpoint(Running(files_of("4.2-kafka")))
    assert isinstance(predict_next_start(found), Resumes)
    assert max(found.commits) == 7


def test_an_id_that_is_no_uuid_is_refused_by_spark() -> None:
    files = {**files_of("4.2-kafka"), "metadata": b'{"id":"my-query"}'}
    predicted = predict_next_start(read(files))
    assert isinstance(predicted, Refuses)
    assert predicted.error == "Invalid UUID string"


def test_a_forgotten_checksum_of_a_source_is_seen() -> None:
    files = files_of("4.2-aggregation")
    numbers = [path.rpartition("/")[2] for path in files if path.startswith("sources/0/")]
    newest = max(int(number) for number in numbers if number.isdecimal())
    predicted = predict_next_start(read({**files, f"sources/0/.{newest + 1}.crc": b"crc\0"}))
    assert isinstance(predicted, Refuses)
    assert predicted.error == "Multiple streaming queries are concurrently using"


def test_more_files_of_the_same_version_of_a_delta_table_are_no_amount() -> None:
    """The number of versions is 0, and something was read."""
    checkpoint = read(files_of("4.2-delta"))
    amounts = [
        each.amount
        for batch in checkpoint.offsets
        for each in find_ranges(checkpoint, BatchId(batch))
    ]
    assert all(amount is None or amount.number > 0 for amount in amounts[1:])


@pytest.mark.parametrize("name", ["4.2-kafka", "4.2-two-sources"])
def test_a_deleted_log_with_what_the_sources_keep_starts_fresh(name: str) -> None:
    found = predict_next_start(read(files_of(name, "offsets/", "commits/")))
    assert isinstance(found, StartsFresh)


def test_a_pending_batch_of_a_join_runs_again() -> None:
    files = files_of("4.2-join", "commits/3")
    assert isinstance(predict_next_start(read(files)), RunsAgain)


def test_a_limit_has_one_partition_also_where_no_metadata_says_so() -> None:
    """Its key is a single field without a type; so 3.5 wrote it."""
    key = '{"type":"struct","fields":[{"name":"key","type":"void","nullable":true,"metadata":{}}]}'
    value = '{"type":"struct","fields":[]}'
    schema = writers.utf("v2") + writers.chunks(key) + writers.chunks(value)
    files = files_of("3.5-aggregation", "state/0/1/", "/.")
    files["state/0/0/_metadata/schema"] = schema
    assert isinstance(predict_next_start(read(files), spark=(3, 5)), Resumes)
    files["state/0/0/_metadata/schema"] = schema.replace(b"void", b"long")
    assert isinstance(predict_next_start(read(files), spark=(3, 5)), Refuses)
