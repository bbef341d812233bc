"""Flows of Spark Declarative Pipelines are found by where their checkpoints are."""

from __future__ import annotations

import pytest

from holdfast.evidence.declarative import address_of, find_flow, read_place, read_storage
from holdfast.storage.location import parse_location
from holdfast.storage.memory import MemoryStorage

TABLE = "_checkpoints/c/s/rows"


def entry(at: int, *offsets: str) -> bytes:
    head = f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":{at},"conf":{{}}}}'
    return "\n".join((head, *offsets)).encode()


def checkpoint(home: str, *offsets: str, began: int = 1, batches: int = 1) -> dict[str, bytes]:
    files = {f"{home}/metadata": b'{"id":"6f0c0000-0000-4000-8000-000000000000"}'}
    for batch in range(batches):
        files[f"{home}/offsets/{batch}"] = entry(began + batch, *offsets)
        files[f"{home}/commits/{batch}"] = b"v1\n{}"
    return files


@pytest.mark.parametrize(
    ("location", "storage", "inside"),
    [
        ("/p/_checkpoints/c/s/t/f/0", "/p", (("c", "s", "t"), "f", 0)),
        ("s3://lake/_checkpoints/c/s/t/f/12", "s3://lake", (("c", "s", "t"), "f", 12)),
        ("s3://lake/p/_checkpoints/sink/f/1", "s3://lake/p", (("sink",), "f", 1)),
        ("/_checkpoints/_checkpoints/c/s/t/f/0", "/_checkpoints", (("c", "s", "t"), "f", 0)),
    ],
)
def test_a_location_tells_the_flow(
    location: str, storage: str, inside: tuple[tuple[str, ...], str, int]
) -> None:
    found = address_of(parse_location(location))
    assert found is not None
    assert str(found.storage) == storage
    assert (found.table, found.flow, found.generation) == inside


@pytest.mark.parametrize(
    "location",
    [
        "/p/checkpoints/c/s/t/f/0",
        "/p/my_checkpoints/c/s/t/f/0",
        "/p/_checkpoints/c/s/t/f",
        "/p/_checkpoints/c/s/t/f/one",
        "/p/_checkpoints/f/0",
        "/p/_checkpoints/a/b/c/d/f/0",
        "/p/_checkpoints",
    ],
)
def test_another_location_is_no_flow(location: str) -> None:
    assert address_of(parse_location(location)) is None


def test_a_storage_root_has_tables_flows_and_generations() -> None:
    files = {
        **checkpoint(f"{TABLE}/first/0", "5", batches=3),
        **checkpoint(f"{TABLE}/first/1", "5"),
        **checkpoint(f"{TABLE}/second/0", "5"),
        **checkpoint("_checkpoints/sink/out/0", "5"),
        "_checkpoints/c/s/rows/note.txt": b"",
    }
    rows, sink = read_storage(MemoryStorage(files))
    assert (rows.name, sink.name) == ("c.s.rows", "sink")
    first, second = rows.flows
    assert [each.number for each in first.generations] == [0, 1]
    assert first.generations[0].newest_committed == 2
    assert first.current.newest_planned == 0
    assert second.current.query_id == "6f0c0000-0000-4000-8000-000000000000"
    assert rows.running == (first, second)


def test_a_directory_without_checkpoints_of_a_pipeline_has_no_tables() -> None:
    assert read_storage(MemoryStorage(checkpoint("stream", "5"))) == ()
    assert read_storage(MemoryStorage({"_checkpoints/a/b": b""})) == ()


def test_a_flow_that_began_later_on_the_same_source_replaces_another() -> None:
    kafka, other = '{"sensors":{"0":3}}', '{"orders":{"0":3}}'
    files = {
        **checkpoint(f"{TABLE}/old/0", kafka, began=1_000),
        **checkpoint(f"{TABLE}/new/0", kafka, began=2_000),
        **checkpoint(f"{TABLE}/third/0", other, began=2_000),
    }
    (table,) = read_storage(MemoryStorage(files))
    assert [each.name for each in table.running] == ["new", "third"]
    assert table.flows[0].current.reads == ("topic sensors",)


def test_sources_are_known_by_table_and_directory() -> None:
    delta = (
        '{"sourceVersion":1,"reservoirId":"t1","reservoirVersion":2,"index":-1,'
        '"isStartingVersion":false}'
    )
    files = checkpoint(f"{TABLE}/f/0", delta, '{"logOffset":0}', "-")
    log = b'v1\n{"path":"file:///in/1.json","timestamp":1,"batchId":0}'
    files[f"{TABLE}/f/0/sources/1/0"] = log
    (table,) = read_storage(MemoryStorage(files))
    assert table.flows[0].current.reads == ("table t1", "directory file:///in")


def test_damage_leaves_what_can_be_told() -> None:
    files = checkpoint(f"{TABLE}/f/0", '{"logOffset":0}', batches=2)
    files[f"{TABLE}/f/0/offsets/1"] = b"not an entry"
    files[f"{TABLE}/f/0/metadata"] = b"{"
    (table,) = read_storage(MemoryStorage(files))
    current = table.flows[0].current
    assert (current.newest_planned, current.newest_ms, current.query_id) == (1, None, "")
    assert current.reads == ()


def test_the_place_of_a_checkpoint_has_its_table_and_what_the_table_lists() -> None:
    files = checkpoint(f"{TABLE}/first/0", "5") | checkpoint(f"{TABLE}/first/1", "5")
    storage = MemoryStorage(files)
    address = address_of(parse_location(f"s3://lake/p/{TABLE}/first/0"))
    assert address is not None
    place = read_place(storage, address, MemoryStorage({"_spark_metadata/3": b"v1"}))
    assert place is not None
    assert not place.is_current
    assert place.storage == "s3://lake/p"
    assert place.table.newest_listed == 3
    alone = read_place(storage, address, MemoryStorage({"_delta_log/0.json": b""}))
    assert alone is not None
    assert alone.table.newest_listed is None
    gone = address_of(parse_location(f"s3://lake/p/{TABLE}/other/0"))
    assert gone is not None
    assert read_place(storage, gone) is None
    assert read_place(MemoryStorage(), address) is None


def test_the_flow_of_a_checkpoint_is_found_by_its_location() -> None:
    storage = MemoryStorage(checkpoint(f"{TABLE}/first/0", "5"))
    tables = [MemoryStorage({"_delta_log/0.json": b""}), MemoryStorage({"_spark_metadata/3": b""})]
    there = parse_location(f"s3://lake/p/{TABLE}/first/0")
    place = find_flow(there, lambda _: storage, tables)
    assert place is not None
    assert place.table.newest_listed == 3
    assert find_flow(parse_location("s3://lake/stream"), lambda _: storage, tables) is None
