"""The name and the root that an adoption suggests."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.adoption.names import find_doubts, suggest_root, suggest_stream
from holdfast.errors import ConfigError
from holdfast.storage.location import parse_location

NAMES = {
    ("Orders Ingest", "/srv/cp/x"): "orders-ingest",
    (None, "/srv/cp/orders_v2/"): "orders-v2",
    (None, "/srv/orders/_checkpoint"): "orders",
    (None, "/srv/orders/checkpoints/2026-11-16"): "orders",
    ("6f0c1e5e-2d3a-4a57-9a41-1234567890ab", "/srv/cp/orders"): "orders",
    (None, "/cp"): None,
}


@pytest.mark.parametrize("given", NAMES)
def test_a_stream_is_named_after_what_its_query_is_called(given: tuple[str | None, str]) -> None:
    name, checkpoint = given
    found = suggest_stream(None, {"the program": name}, parse_location(checkpoint))
    assert (None if found is None else found.value) == NAMES[given]


def test_a_name_that_is_chosen_is_checked() -> None:
    place = parse_location("/srv/cp/orders")
    chosen = suggest_stream("sales", {"the program": "orders"}, place)
    assert chosen is not None
    assert (chosen.value, chosen.where) == ("sales", "--stream")
    with pytest.raises(ConfigError):
        suggest_stream("Sales", {}, place)


@pytest.mark.parametrize("log", ["_delta_log", "_spark_metadata"])
def test_a_record_is_not_put_among_the_files_of_a_table(log: str, tmp_path: Path) -> None:
    table = tmp_path / "lake/orders"
    (table / log).mkdir(parents=True)
    place = parse_location(str(table / "_checkpoints/orders"))
    found = suggest_root(None, place, {})
    assert found is not None
    assert found.value == str(tmp_path / "lake")


def test_the_root_of_a_disk_is_no_root() -> None:
    assert suggest_root(None, parse_location("/cp"), {}) is None
    chosen = suggest_root("/srv/streams", parse_location("/cp"), {})
    assert chosen is not None
    assert chosen.value == "/srv/streams"


def test_a_bucket_is_spelt_as_spark_knows_it() -> None:
    chosen = suggest_root("s3://lake/streams", parse_location("/cp"), {})
    assert chosen is not None
    assert chosen.value == "s3a://lake/streams"


def test_a_root_that_does_not_last_is_doubted() -> None:
    doubted = {each: find_doubts(parse_location(each)) for each in ("/tmp/x", "/srv/2026-11-16")}
    assert all(doubted.values())
    assert find_doubts(parse_location("/srv/streams")) is None
