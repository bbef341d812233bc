"""Ranges of sources between two positions, from files alone."""

from __future__ import annotations

import json

import pytest

from holdfast.formats.delta_files import FileChanges, parse_file_changes
from holdfast.sources.delta.ranges import DeltaRange
from holdfast.sources.files.ranges import FileRange
from holdfast.sources.kafka.ranges import KafkaRange
from holdfast.sources.ranges import NoRange, Ranges, read_ranges
from holdfast.storage.memory import MemoryStorage


def store(**files: bytes) -> MemoryStorage:
    found = MemoryStorage()
    for path, content in files.items():
        found.put_if_absent(path.replace("__", "/").replace("_compact", ".compact"), content)
    return found


def delta(version: int, *, index: int = -1, initial: bool = False, table: str = "t") -> object:
    return {
        "sourceVersion": 1,
        "reservoirId": table,
        "reservoirVersion": version,
        "index": index,
        "isStartingVersion": initial,
    }


def found(reader: MemoryStorage, start: object, end: object) -> Ranges | NoRange:
    return read_ranges(reader, start=json.dumps(start), end=json.dumps(end))


def test_kafka_begins_where_the_checkpoint_says() -> None:
    began = store(sources__0__0=b'\0v1\n{"t":{"0":5}}')
    end = {"0": {"t": {"0": 9, "1": 3}}}
    answer = found(began, {}, end)
    assert answer == {"0": KafkaRange(start={"t": {0: 5, 1: 0}}, end={"t": {0: 9, 1: 3}})}
    assert isinstance(answer["0"], KafkaRange)
    assert answer["0"].records == 7
    assert not answer["0"].is_empty
    nothing = found(began, end, end)
    assert isinstance(nothing, dict)
    assert nothing["0"].is_empty
    later = found(began, {"0": {"t": {"0": 7}}}, end)
    assert later == {"0": KafkaRange(start={"t": {0: 7, 1: 0}}, end={"t": {0: 9, 1: 3}})}


@pytest.mark.parametrize(
    ("files", "start", "end", "reason"),
    [
        ({}, {}, {"t": {"0": 9}}, "where it began is not known"),
        ({"sources__0__0": b"\0v1\nx"}, {}, {"t": {"0": 9}}, "where it began is not known"),
        ({}, {"0": {"t": {"0": 9}}}, {"t": {"0": 3}}, "deleted and created again"),
        ({}, {"0": {"t": {"0": 9}}}, {"logOffset": 3}, "of another kind"),
        ({}, {}, delta(3, index=2), "inside version 3"),
        ({}, {}, delta(3, index=2, initial=True), "inside the first snapshot"),
        ({}, {"0": delta(1, table="u")}, delta(3), "replaced in between"),
        ({}, {}, 7, "cannot be read again"),
        ({}, {}, {"mine": 1}, "does not know the kind"),
        ({}, {}, {"logOffset": 0}, "no log of files"),
        ({"sources__0__0": b"v1\n{}"}, {}, {"logOffset": 0}, "is not a file entry"),
        (
            {"sources__0__0": b'v1\n{"path":"f","timestamp":1,"batchId":0}'},
            {},
            {"logOffset": 2},
            "entry 1 of its log",
        ),
    ],
)
def test_what_is_not_known_is_named(
    *, files: dict[str, bytes], start: object, end: object, reason: str
) -> None:
    answer = found(store(**files), start, {"0": end})
    assert isinstance(answer, NoRange)
    assert answer.source == "0"
    assert reason in answer.reason


def test_offsets_that_are_no_object() -> None:
    assert isinstance(read_ranges(store(), start="{}", end="[]"), NoRange)


@pytest.mark.parametrize(
    ("start", "end", "after", "through"),
    [
        (None, delta(4), -1, 3),
        (None, delta(0, initial=True), -1, -1),
        (delta(2), delta(4), 1, 3),
        (delta(2, initial=True), delta(4), -1, 3),
        (delta(4), delta(4), 3, 3),
    ],
)
def test_delta(start: object, end: object, *, after: int, through: int) -> None:
    before = {} if start is None else {"0": start}
    wanted = DeltaRange(table_id="t", after=after, through=through)
    assert found(store(), before, {"0": end}) == {"0": wanted}
    assert wanted.is_empty == (through <= after)


def entries(*numbers: int) -> bytes:
    lines = (f'{{"path":"file:///in/f%20{n}","timestamp":1,"batchId":{n}}}' for n in numbers)
    return "\n".join(("v1", *lines)).encode()


def test_files_come_from_the_newest_compact_file_and_those_after_it() -> None:
    files = {"sources__0__1_compact": entries(0, 1), "sources__0__3_compact": entries(0, 1, 2, 3)}
    files |= {"sources__0__4": entries(4), "sources__0__5": entries(5)}
    answer = found(store(**files), {"0": {"logOffset": 1}}, {"0": {"logOffset": 4}})
    assert answer == {"0": FileRange(files=tuple(f"file:///in/f {n}" for n in (2, 3, 4)))}


def test_what_a_commit_did_to_the_files_of_a_table() -> None:
    added = b'{"add":{"path":"a","dataChange":true}}'
    rewritten = (
        b'{"add":{"path":"b","dataChange":false}}\n{"remove":{"path":"a","dataChange":false}}'
    )
    removed = b'{"remove":{"path":"a","dataChange":true}}'
    info = b'{"commitInfo":{}}\n'
    assert parse_file_changes(info + added) == FileChanges(added=("a",), removes_data=False)
    assert parse_file_changes(info + rewritten) == FileChanges(added=(), removes_data=False)
    assert parse_file_changes(added + b"\n" + removed) == FileChanges(
        added=("a",), removes_data=True
    )
    assert parse_file_changes(b'{"add":{"pa') is None
    assert parse_file_changes(b'{"add":7}') is None


def test_why_there_is_no_range_names_the_source_if_there_is_one() -> None:
    assert str(NoRange(source="0", reason="it is gone")) == "source 0: it is gone"
    assert str(NoRange(source="", reason="it is gone")) == "it is gone"
