"""What a checkpoint costs, by its files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from holdfast.checkpoint import read_checkpoint
from holdfast.evidence.cost import CheckpointCost, find_cost
from holdfast.evidence.progress_times import NoTimes, ReportedTimes, read_times
from holdfast.storage.read import FileInfo
from tests.unit.checkpoint.archives import ARCHIVES, open_archive

BEGAN = datetime(2026, 11, 17, 10, tzinfo=UTC)


def cost_of(name: str, files: list[FileInfo] | None = None) -> CheckpointCost:
    reader = open_archive(name).checkpoint
    return find_cost(read_checkpoint(reader), reader.walk() if files is None else files)


def written(path: str, at_s: float, size: int = 100) -> FileInfo:
    return FileInfo(path=path, size_bytes=size, modified=BEGAN + timedelta(seconds=at_s))


def logs(batches: int, *, took_s: float = 2.5, every_s: float = 10.0) -> list[FileInfo]:
    return [
        written(f"{log}/{batch}", batch * every_s + after)
        for batch in range(batches)
        for log, after in (("offsets", 0.5), ("commits", 0.5 + took_s))
    ]


def parts(cost: CheckpointCost) -> dict[str, tuple[float | None, float | None]]:
    return {part.name: (part.files, part.size_bytes) for part in cost.parts}


def test_an_aggregation_writes_a_delta_for_each_partition() -> None:
    cost = cost_of("4.2-aggregation")
    found = parts(cost)
    assert (cost.batches, cost.first) == (6, 0)
    assert [*found] == ["offsets", "commits", "sources/0", "state/0", "other"]
    # With the checksums that Hadoop keeps on local disk.
    assert found["offsets"][0] == found["commits"][0] == 2.0
    assert found["other"] == (None, None)
    assert cost.providers == ("HDFS-backed, state format 1",)
    assert cost.state_share is not None
    assert 0 < cost.state_share < 1
    assert not cost.is_async


@pytest.mark.parametrize("name", ARCHIVES)
def test_every_file_is_counted_once(name: str) -> None:
    reader = open_archive(name).checkpoint
    files = list(reader.walk())
    cost = find_cost(read_checkpoint(reader), files)
    assert cost.kept_files == len(files)
    assert cost.kept_bytes == sum(info.size_bytes for info in files)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("4.2-aggregation-rocksdb", "RocksDB with snapshots only, state format 1"),
        ("4.2-aggregation-changelog", "RocksDB with changelog checkpointing, state format 1"),
        ("4.2-aggregation-format-2", "RocksDB with changelog checkpointing, state format 2"),
    ],
)
def test_the_provider_is_told_by_its_files(name: str, said: str) -> None:
    assert cost_of(name).providers == (said,)


def test_gaps_in_both_logs_are_those_of_asynchronous_progress() -> None:
    assert cost_of("4.2-kafka-async").is_async
    assert not cost_of("4.2-kafka").is_async


def test_a_compacted_log_is_named_with_its_size() -> None:
    (found,) = cost_of("4.2-file-source").compactions
    assert (found.path, found.size_bytes, found.every) == ("sources/0/9.compact", 1162, None)
    (purged,) = cost_of("4.2-file-source-purged").compactions
    assert purged.every is None or purged.every == 3


def test_a_batch_takes_from_its_offset_entry_to_its_commit() -> None:
    cost = cost_of("4.2-kafka", logs(4))
    assert cost.batch_s is not None
    assert (cost.batch_s.median, cost.batch_s.lowest, cost.batch_s.highest) == (2.5, 2.5, 2.5)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (logs(1), "fewer than two batches"),
        ([written(f"{log}/{n}", 7.5) for n in range(4) for log in ("offsets", "commits")], "copy"),
        (logs(4, took_s=-2.5), "copy"),
        ([*logs(3), written("offsets/3", 0.1), written("commits/3", 0.2)], "copy"),
        ([replace(f, modified=f.modified.replace(microsecond=0)) for f in logs(4)], "seconds"),
    ],
)
def test_times_that_tell_nothing_are_not_used(files: list[FileInfo], why: str) -> None:
    cost = cost_of("4.2-kafka", files)
    assert cost.batch_s is None
    assert why in cost.why_no_batch_s


def test_data_files_of_rocksdb_count_since_the_oldest_commit_that_is_kept() -> None:
    data = [written(f"state/0/0/SSTs/{n}.sst", at) for n, at in enumerate((-5.0, 4.0, 12.0))]
    rocks = [*logs(6), written("state/0/0/1.zip", 2.0), *data]
    assert parts(cost_of("4.2-aggregation-rocksdb", rocks))["state/0"] == (0.5, 50.0)


def test_data_files_without_sound_times_are_not_known() -> None:
    files = [written(f.path, 1.0) for f in logs(6)] + [written("state/0/0/SSTs/1.sst", 1.0)]
    cost = cost_of("4.2-aggregation-rocksdb", files)
    assert parts(cost)["state/0"] == (None, None)
    assert cost.requests is None
    assert cost.state_share is None


def test_a_checkpoint_without_a_commit_costs_nothing_that_is_known() -> None:
    reader = open_archive("4.2-killed-offsets").checkpoint
    checkpoint = replace(read_checkpoint(reader), commits={})
    cost = find_cost(checkpoint, reader.walk())
    assert cost.batches == 0
    assert all(part.files is None for part in cost.parts)


ID = "8a1f0c9e-0000-4000-8000-000000000001"
PROGRESS = """26/11/17 10:00:00 INFO MicroBatchExecution: Streaming query made progress: {{
  "id" : "{id}",
  "runId" : "8a1f0c9e-0000-4000-8000-0000000000ff",
  "name" : "readings",
  "timestamp" : "2026-11-17T10:00:00.000Z",
  "batchId" : {batch},
  "numInputRows" : 40,
  "durationMs" : {{
    {took}
  }},
  "stateOperators" : [ ]
}}
"""


def progress(batch: int, *, query: str = ID, **took: int) -> str:
    lines = ",\n    ".join(f'"{name}" : {ms}' for name, ms in took.items())
    return PROGRESS.format(id=query, batch=batch, took=lines)


def test_sparks_progress_tells_the_share_of_the_logs() -> None:
    text = "".join(
        progress(n, addBatch=700, commitOffsets=ms, triggerExecution=1000, walCommit=100)
        for n, ms in enumerate((100, 200, 300))
    )
    found = read_times(text, ID)
    assert found == ReportedTimes(
        batches=3, batch_ms=1000, logs_ms=300, share=0.3, lowest=0.2, highest=0.4
    )


def test_progress_as_python_gives_it_is_read_too() -> None:
    text = (
        f'[{{"id": "{ID}", "batchId": 4, "durationMs": '
        '{"addBatch": 5, "walCommit": 3, "commitOffsets": 1, "triggerExecution": 10}}]'
    )
    found = read_times(text, ID)
    assert isinstance(found, ReportedTimes)
    assert found.share == 0.4


def test_triggers_without_a_batch_and_other_queries_do_not_count() -> None:
    idle = progress(3, latestOffset=2, triggerExecution=2)
    other = progress(3, query=ID[:-1] + "2", addBatch=1, walCommit=1, triggerExecution=2)
    assert read_times(idle, ID) == NoTimes("it has progress of triggers without a batch only")
    found = read_times(other, ID)
    assert isinstance(found, NoTimes)
    assert "other queries" in found.why
    assert isinstance(read_times("nothing", ID), NoTimes)


@pytest.mark.parametrize("text", ["", '"id" : "' * 50_000, "{" * 100_000, progress(0)[:-80] * 500])
def test_hostile_text_is_no_progress(text: str) -> None:
    assert isinstance(read_times(text, ID), NoTimes)
