"""A new kind of source is one package and one line: here a queue in a file, `tests/kinds`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from holdfast.checkpoint.read import read_checkpoint
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.progress import find_progress
from holdfast.evidence.source_names import name_sources
from holdfast.evidence.wording import describe_position, describe_range
from holdfast.ids import BatchId
from holdfast.judgement.probing import probe_sources
from holdfast.ledger.coverage import read_coverage
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.record.contracts import Contract
from holdfast.sources.kind import Amount
from holdfast.sources.probe import SourceLooks
from holdfast.sources.ranges import NoRange, merge_ranges, read_ranges
from holdfast.sources.reading import NoBatchForm, Opening, Reading
from holdfast.sources.registry import parse_offset, register, unregister
from holdfast.sources.unknown.kind import OpaqueOffset
from holdfast.storage.local import LocalReader
from holdfast.storage.location import parse_location
from holdfast.streams.backfill import positions
from holdfast.streams.source_probes import SourceProbes
from tests.kinds.file_queue.kind import FILE_QUEUE, QueueFound, QueueOffset, QueueRange
from tests.unit.cli.conftest import inspect
from tests.unit.cli.inspecting import Inspect
from tests.unit.plan import streams_on_disk
from tests.unit.plan.streams_on_disk import LINE, OnDisk, disk

__all__ = ["disk", "inspect"]
if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime(2026, 11, 18, tzinfo=UTC)
LAST = 4


@pytest.fixture(autouse=True)
def _known() -> Iterator[None]:
    register(FILE_QUEUE)
    yield
    unregister(FILE_QUEUE)


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    path = tmp_path / "messages.txt"
    path.write_text("".join(f"{number} text {number}\n" for number in range(30)))
    return path


def offset(queue: Path, batch: int) -> dict[str, Any]:
    return {"queue": str(queue), "next": 5 * (batch + 1)}


@pytest.fixture
def checkpoint(tmp_path: Path, queue: Path) -> Path:
    home = tmp_path / "checkpoint"
    for name in ("offsets", "commits"):
        (home / name).mkdir(parents=True)
    (home / "metadata").write_text('{"id":"b0f2a5cd-6f4b-4c55-9f27-2d4e4f0c8e11"}')
    for batch in range(LAST + 1):
        text = json.dumps(offset(queue, batch))
        (home / "offsets" / str(batch)).write_text(f"v1\n{LINE}\n{text}")
        if batch < LAST:
            (home / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return home


def reader_of(path: Path | str) -> LocalReader:
    return LocalReader(parse_location(str(path)))


def looks() -> SourceLooks:
    return SourceLooks(
        given={}, options={}, kafka_config=None, contract=None, topic_ids={}, now=NOW
    )


def test_without_the_line_its_offsets_are_opaque(queue: Path) -> None:
    text = json.dumps(offset(queue, 0))
    assert parse_offset(text) == QueueOffset(queue=str(queue), next=5)
    unregister(FILE_QUEUE)
    assert parse_offset(text) == OpaqueOffset(text=text)
    register(FILE_QUEUE)


def test_inspect_names_it_and_counts_its_messages(inspect: Inspect, checkpoint: Path) -> None:
    _, lines = inspect(checkpoint)
    assert lines[0] == (
        "Batch 4 is pending: the next start runs it again, same range "
        "(queue messages.txt, 5 messages), if the query is stateless."
    )
    assert any("queue messages.txt" in line and "at message 25" in line for line in lines)
    _, answer = inspect(checkpoint, "--format", "json")
    (source,) = json.loads("\n".join(answer))["sources"]
    assert (source["kind"], source["amount"]) == ("file-queue", {"number": 5, "unit": "message"})
    assert source["end"]["next"] == 25


def test_evidence_has_the_range_of_the_next_batch(checkpoint: Path) -> None:
    progress = find_progress(read_checkpoint(reader_of(checkpoint)))
    (found,) = progress.sources
    assert found.amount == Amount(number=5, unit="message")
    assert describe_range(found) == "queue messages.txt, 5 messages"
    assert describe_position(found) == "queue messages.txt, at message 25"


def test_two_queries_on_one_queue_are_recognised(checkpoint: Path, queue: Path) -> None:
    entry = read_checkpoint(reader_of(checkpoint)).newest_readable
    assert entry is not None
    assert list(name_sources(reader_of(checkpoint), entry)) == [f"queue {queue}"]


@pytest.mark.parametrize("kept", [0, 22])
def test_a_probe_says_what_it_can_still_give(checkpoint: Path, queue: Path, kept: int) -> None:
    lines = queue.read_text().splitlines(keepends=True)
    queue.write_text("".join(lines[kept:]))
    reader = reader_of(checkpoint)
    (probe,) = probe_sources(read_checkpoint(reader), reader, looks())
    assert probe.found == QueueFound(display_name="queue messages.txt", oldest=kept)
    assert probe.lossless_for == (timedelta(0) if kept else None)


def test_a_guarded_start_asks_it(queue: Path) -> None:
    probes = SourceProbes(
        df=cast("DataFrame", None),
        record=reader_of(queue.parent),
        epoch=1,
        contract=Contract(
            sources=("q",), sinks=("t",), operators=(), output_mode="append", state_provider=""
        ),
        before=None,
    )
    (probe,) = probes._ask_others({"0": QueueOffset(queue=str(queue), next=3)})
    assert isinstance(probe.found, QueueFound)


def test_a_batch_has_its_range_and_is_read_again(checkpoint: Path, queue: Path) -> None:
    reader = reader_of(checkpoint)
    covered = read_coverage(reader, BatchId(2))
    assert not isinstance(covered, Unparsed)
    found = read_ranges(reader, start=covered.start_offsets, end=covered.end_offsets)
    assert found == {"0": QueueRange(queue=str(queue), first=10, last=15)}
    assert isinstance(found["0"], QueueRange)

    class Spark:
        def createDataFrame(self, rows: list[Any], schema: str) -> list[Any]:  # noqa: N802
            assert schema == "number long, text string"
            return rows

    spark = cast("SparkSession", Spark())
    opening = Opening(
        spark=spark, reading=Reading(), read_at=reader_of, errors=(OSError,), first_line=str
    )
    make = found["0"].open(opening)
    assert not isinstance(make, NoBatchForm)
    assert [row[0] for row in cast("list[tuple[int, str]]", make())] == [10, 11, 12, 13, 14]
    queue.write_text("29 text 29\n")
    assert isinstance(found["0"].open(opening), NoBatchForm)


def test_ranges_of_two_generations_are_joined(queue: Path) -> None:
    one = QueueRange(queue=str(queue), first=0, last=10)
    (joined,) = merge_ranges([{"0": one}, {"0": replace(one, first=5, last=20)}])  # type: ignore[misc]
    assert joined == {"0": replace(one, last=20)}
    other = replace(one, queue="other")
    assert isinstance(merge_ranges([{"0": one}, {"0": other}]), NoRange)


def test_positions_are_written_by_people_and_cut_into_chunks(queue: Path) -> None:
    known = {"0": QueueOffset(queue=str(queue), next=25)}
    start = positions.parse_position("--from", "5", known)
    assert positions.decode_position(positions.encode_position(start)) == start
    assert positions.find_fault(start, known) is None
    assert positions.count_chunks(start, known, None) == 2
    middle = positions.boundary(start, known, number=1, chunks=2)
    assert middle == {"0": QueueOffset(queue=str(queue), next=15)}
    assert positions.beginning(known, {}) == {"0": QueueOffset(queue=str(queue), next=0)}


def make_stream(disk: OnDisk, queue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        streams_on_disk, "end", lambda batch: json.dumps({"0": offset(queue, batch)})
    )
    disk.add("readings", {"a": LAST})
    disk.checkpoint("readings", LAST)
    for batch in range(LAST + 1):
        text = json.dumps(offset(queue, batch))
        disk.checkpoint_of("readings").put(f"offsets/{batch}", f"v1\n{LINE}\n{text}".encode())


@pytest.fixture
def stream(disk: OnDisk, queue: Path, monkeypatch: pytest.MonkeyPatch) -> OnDisk:
    make_stream(disk, queue, monkeypatch)
    return disk


@pytest.mark.parametrize("number", [10, 25])
def test_a_reset_begins_where_it_is_told(stream: OnDisk, queue: Path, number: int) -> None:
    given = json.dumps({"queue": str(queue), "next": number}) if number < 25 else "here"
    plan = stream.plan("readings", goal="reset", start=given, output="keep-from-here")
    assert isinstance(plan, Plan), plan
    written = json.dumps({"queue": str(queue), "next": number}, separators=(",", ":"))
    assert any(written in str(step) for step in plan.steps)


def test_a_rewind_cuts_it(stream: OnDisk) -> None:
    plan = stream.plan("readings", goal="rewind", batch=2, output="keep")
    assert not isinstance(plan, NoPlan), plan
