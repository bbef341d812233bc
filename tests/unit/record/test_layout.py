from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import ConfigError
from holdfast.record.generations import Generation, current_generation, open_generation
from holdfast.record.layout import (
    check_stream_name,
    checkpoint_location,
    is_temporary,
    record_location,
)
from holdfast.record.neighbours import find_conflict
from holdfast.storage.location import parse_location
from holdfast.storage.write import Writer, open_writer

QUERY = "6f0c0000-0000-4000-8000-000000000000"
ROOT = parse_location("s3a://lake/streams")


def test_where_things_are_is_a_function_of_root_stream_and_generation() -> None:
    assert str(checkpoint_location(ROOT, "readings", 1)) == "s3://lake/streams/readings"
    assert str(checkpoint_location(ROOT, "readings", 2)) == "s3://lake/streams/readings.g2"
    assert str(record_location(ROOT, "readings")) == "s3://lake/streams/_holdfast/readings"


@pytest.mark.parametrize("name", ["readings", "sensor-raw-ingest", "v2-readings", "a1", "20-four"])
def test_names_that_stay(name: str) -> None:
    check_stream_name(name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Readings", "lower-case"),
        ("", "lower-case"),
        ("a" * 64, "lower-case"),
        ("readings/2", "lower-case"),
        ("..", "lower-case"),
        ("readings-2026-11-15", "a date"),
        ("readings-20261115", "a date"),
        ("readings-6f0c1e5e-1c1d-4b3c-9d7e-0a1b2c3d4e5f", "a uuid"),
        ("6f0c1e5e1c1d4b3c9d7e0a1b2c3d4e5f", "a uuid"),
    ],
)
def test_names_that_would_change_or_break(name: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        check_stream_name(name)


def test_a_root_that_is_cleaned_up_is_recognised() -> None:
    assert is_temporary(parse_location("/tmp/streams"))
    assert not is_temporary(parse_location("/data/tmp/streams"))
    assert not is_temporary(parse_location("s3://tmp/streams"))


def generation(checkpoint: str, *, number: int = 1, query_id: str = QUERY) -> Generation:
    return Generation(
        number=number,
        checkpoint=checkpoint,
        query_id=query_id,
        first_batch=0,
        why="opened",
        opened_at="2026-11-15T06:00:00+00:00",
    )


@pytest.fixture
def root(tmp_path: Path) -> Writer:
    return open_writer(str(tmp_path))


def test_the_highest_number_is_the_current_generation(root: Writer) -> None:
    assert current_generation(root) is None
    for number in (1, 2):
        assert open_generation(root, generation("/data/x", number=number))
    found = current_generation(root)
    assert found is not None
    assert found.number == 2


def test_a_generation_is_opened_once(root: Writer) -> None:
    assert open_generation(root, generation("/data/x"))
    assert open_generation(root, generation("/data/x"))  # ours, whose answer was lost
    assert not open_generation(root, generation("/data/y"))


@pytest.mark.parametrize(
    ("checkpoint", "query_id", "why"),
    [
        ("/data/orders", None, "runs on"),
        ("file:/data/orders/", None, "runs on"),
        ("/data/orders/inner", None, "inside its checkpoint"),
        ("/data", None, "lies inside /data"),
        ("/backup/orders", QUERY, "same query id"),
        ("/data/orders2", "77aa", None),
        ("/data/orders2", None, None),
    ],
)
def test_two_streams_cannot_share_a_checkpoint(
    root: Writer, *, checkpoint: str, query_id: str | None, why: str | None
) -> None:
    theirs = open_writer(root.location.join("_holdfast", "orders"))
    open_generation(theirs, generation("/data/orders"))
    conflict = find_conflict(root, "readings", parse_location(checkpoint), query_id=query_id)
    assert (conflict is None) == (why is None)
    if conflict is not None and why is not None:
        assert (conflict.stream, conflict.generation) == ("orders", 1)
        assert why in conflict.why
    assert find_conflict(root, "orders", parse_location(checkpoint), query_id=query_id) is None
