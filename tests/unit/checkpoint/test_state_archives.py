"""State that real Spark wrote: what we read of it is what Spark's own state reader says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.checkpoint import Checkpoint, read_checkpoint
from holdfast.checkpoint.checksums import Sidecar, parse_sidecar, parse_spark_checksum
from holdfast.checkpoint.layout import Kind, parse_name
from holdfast.checkpoint.state import (
    Chain,
    NotCounted,
    Operator,
    OperatorMetadata,
    StateSchema,
    count_rows,
    find_chain,
)
from holdfast.checkpoint.state.files import StateFileKind
from holdfast.checkpoint.state.rows import read_rocks_snapshot
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.state import unique_ids
from tests.unit.checkpoint.archives import ARCHIVES, Archive, open_archive


@pytest.fixture(params=ARCHIVES)
def archive(request: pytest.FixtureRequest) -> Archive:
    return open_archive(request.param)


@pytest.fixture
def checkpoint(archive: Archive) -> Checkpoint:
    return read_checkpoint(archive.checkpoint)


def answers(archive: Archive) -> Iterator[dict[str, Any]]:
    """Give Spark's row counts: one per operator, store or variable, and batch."""
    state = archive.answers.get("state") or {}
    yield from (each for each in state.get("stores", ()) if "rows" in each)


def operator_of(checkpoint: Checkpoint, answer: dict[str, Any]) -> Operator:
    number = int(answer["operatorId"])
    return next(each for each in checkpoint.state if each.operator_id == number)


def rows_of(archive: Archive, checkpoint: Checkpoint, answer: dict[str, Any]) -> Any:
    """Count what an answer counts; what cannot be told is returned as it is."""
    operator = operator_of(checkpoint, answer)
    version, total = int(answer["batchId"]) + 1, 0
    for store in operator.stores:
        if store.name != answer.get("storeName", "default"):
            continue
        chain = find_chain(
            store.files,
            version,
            unique_ids(checkpoint, operator).get((store.partition, store.name)),
        )
        assert isinstance(chain, Chain), (answer, chain)
        rows = count_rows(archive.checkpoint, store.directory, chain)
        if not isinstance(rows, int):
            return rows
        total += rows
    return total


def is_a_store(operator: Operator, answer: dict[str, Any]) -> bool:
    """Say whether an answer is about a whole store, not about a part of one."""
    if "stateVarName" in answer or "readRegisteredTimers" in answer:
        return False
    return answer.get("storeName", "default") in {store.name for store in operator.stores}


def test_row_counts_are_sparks(archive: Archive, checkpoint: Checkpoint) -> None:
    for answer in answers(archive):
        operator = operator_of(checkpoint, answer)
        if not is_a_store(operator, answer):
            continue
        rows = rows_of(archive, checkpoint, answer)
        if isinstance(rows, NotCounted):
            assert "above it" in rows.why, (answer, rows)
        else:
            assert rows == answer["rows"], answer


def test_most_row_counts_were_compared() -> None:
    """A checker that compares nothing would pass."""
    seen: Counter[str] = Counter()
    for name in ARCHIVES:
        archive = open_archive(name)
        checkpoint = read_checkpoint(archive.checkpoint)
        for answer in answers(archive):
            operator = operator_of(checkpoint, answer)
            rows = rows_of(archive, checkpoint, answer)
            seen[type(rows).__name__ if is_a_store(operator, answer) else "a part"] += 1
    assert seen["int"] >= 500
    assert seen["NotCounted"] <= 20
    assert seen["Unparsed"] == 0


def test_stores_with_several_parts_have_as_many_keys_as_spark_finds_in_them(
    archive: Archive, checkpoint: Checkpoint
) -> None:
    """Joins that keep their four stores in one: what a zip counts is the sum of them."""
    by_batch: Counter[int] = Counter()
    for answer in answers(archive):
        if answer.get("storeName", "default") != "default":
            by_batch[int(answer["batchId"])] += answer["rows"]
    for operator in checkpoint.state:
        if operator.name != "symmetricHashJoin" or len({s.name for s in operator.stores}) != 1:
            continue
        for batch, rows in by_batch.items():
            counted = _zips(archive, checkpoint, operator, version=batch + 1)
            if counted is not None:
                assert counted == rows


def _zips(
    archive: Archive, checkpoint: Checkpoint, operator: Operator, *, version: int
) -> int | None:
    total = 0
    for store in operator.stores:
        chain = find_chain(
            store.files,
            version,
            unique_ids(checkpoint, operator).get((store.partition, store.name)),
        )
        assert isinstance(chain, Chain)
        if chain.changes or chain.base is None:
            return None
        snapshot = read_rocks_snapshot(archive.checkpoint, f"{store.directory}/{chain.base.name}")
        assert not isinstance(snapshot, Unparsed)
        total += (snapshot.rows or 0) + (snapshot.internal_rows or 0)
    return total


def test_operators_are_what_spark_says(archive: Archive, checkpoint: Checkpoint) -> None:
    state = archive.answers.get("state") or {}
    if not state.get("metadata"):
        pytest.skip("Spark's own reader says nothing of this one")
    expected = {
        (each["operatorId"], each["operatorName"], each["stateStoreName"], each["numPartitions"])
        for each in state["metadata"]
    }
    read = set()
    for operator in checkpoint.state:
        newest = operator.metadata[-1]
        assert isinstance(newest, OperatorMetadata)
        for store in newest.stores:
            read.add((newest.operator_id, newest.name, store.name, store.partitions))
    assert read == expected


def test_all_of_state_is_understood(archive: Archive, checkpoint: Checkpoint) -> None:
    for operator in checkpoint.state:
        assert (operator.unparsed, operator.foreign, operator.lone_sidecars) == ((), (), ())
        assert operator.schemas
        assert all(isinstance(schema, StateSchema) for schema in operator.schemas)
        assert bool(operator.metadata) == (not archive.name.startswith("3.5"))


def test_what_a_rocksdb_snapshot_names_is_there(archive: Archive, checkpoint: Checkpoint) -> None:
    for operator in checkpoint.state:
        for store in operator.stores:
            for file in store.files:
                if file.kind is not StateFileKind.ZIP:
                    continue
                found = read_rocks_snapshot(archive.checkpoint, f"{store.directory}/{file.name}")
                assert not isinstance(found, Unparsed)
                for each in found.data_files:
                    assert store.data_files.get(each.name) == each.size_bytes


def test_every_checksum_fits_its_file(archive: Archive) -> None:
    files = archive.checkpoint.files
    for path, raw in files.items():
        name = parse_name(path)
        directory, _, base = path.rpartition("/")
        if name.kind is Kind.SIDECAR and f"{directory}/{name.target}".lstrip("/") in files:
            sidecar = parse_sidecar(path, raw)
            assert isinstance(sidecar, Sidecar)
            assert sidecar.fits(files[f"{directory}/{name.target}".lstrip("/")]), path
        elif base.endswith(".crc") and not base.startswith("."):
            checksum = parse_spark_checksum(path, raw)
            assert not isinstance(checksum, Unparsed)
            assert checksum.fits(files[path.removesuffix(".crc")]), path
