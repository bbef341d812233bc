"""The statistics of the files of a commit: what is told, and what is not."""

from __future__ import annotations

import json

import pytest

from holdfast.formats.delta_statistics import FileStatistics, parse_statistics

pytestmark = pytest.mark.unit


def _add(stats: object, **more: object) -> bytes:
    text = stats if isinstance(stats, str) else json.dumps(stats)
    added = {"path": "a.parquet", "partitionValues": {}, "stats": text, **more}
    return json.dumps({"add": added}, separators=(",", ":")).encode()


def _stats(**more: object) -> dict[str, object]:
    return {
        "numRecords": 5,
        "minValues": {"offset": 5, "at": {"partition": 1}, "x": 1.5},
        "maxValues": {"offset": 9, "at": {"partition": 1}, "x": 2.5},
        "nullCount": {"offset": 0, "at": {"partition": 0}},
        **more,
    }


def test_the_lowest_and_the_highest_of_each_column() -> None:
    found = parse_statistics(b'{"commitInfo":{}}\n' + _add(_stats()))
    assert found == (
        FileStatistics(
            records=5,
            lowest={"offset": 5, "at.partition": 1},
            highest={"offset": 9, "at.partition": 1},
        ),
    )


def test_columns_that_a_table_is_partitioned_by() -> None:
    (found,) = parse_statistics(_add(_stats(), partitionValues={"part": "3"})) or ()
    assert (found.lowest["part"], found.highest["part"]) == ("3", "3")


def test_a_column_with_a_null_has_no_bounds() -> None:
    (found,) = parse_statistics(_add(_stats(nullCount={"offset": 1}))) or ()
    assert "offset" not in found.lowest
    assert "offset" not in found.highest


@pytest.mark.parametrize(
    "line",
    [
        b'{"remove":{"path":"a"}}',
        b'{"add":{"path":"a"}}',
        b'{"add":{"path":"a","stats":"{"}}',
        b'{"add":[]}',
        b'{"add":',
        _add(_stats(tightBounds=False)),
        _add({"minValues": {}, "maxValues": {}}),
        _add("null"),
    ],
)
def test_what_does_not_tell_every_row_tells_nothing(line: bytes) -> None:
    assert parse_statistics(_add(_stats()) + b"\n" + line) is None


def test_a_commit_without_files_has_none() -> None:
    assert parse_statistics(b'{"commitInfo":{}}') == ()
