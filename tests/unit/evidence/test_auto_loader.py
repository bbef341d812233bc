"""What a checkpoint of Auto Loader tells beside its offsets."""

from __future__ import annotations

from datetime import UTC, datetime

from holdfast.checkpoint import read_checkpoint
from holdfast.evidence.auto_loader import newest_schema, read_schema_times
from holdfast.storage.memory import MemoryStorage


def test_the_schema_log_is_known_by_its_numbers() -> None:
    files = {"_schemas/0": b"", "_schemas/10": b"", "_schemas/.9.crc": b"", "offsets/12": b""}
    storage = MemoryStorage(files)
    times = read_schema_times(storage, read_checkpoint(storage))
    assert set(times) == {"_schemas/0", "_schemas/10"}
    assert newest_schema({**times, "offsets/12": datetime.now(tz=UTC)}) == (
        10,
        datetime.fromtimestamp(0, tz=UTC),
    )
    assert newest_schema({}) is None


def test_a_checkpoint_without_a_schema_log_costs_no_request() -> None:
    checkpoint = read_checkpoint(MemoryStorage({"offsets/12": b""}))
    assert read_schema_times(MemoryStorage({"_schemas/0": b""}), checkpoint) == {}
