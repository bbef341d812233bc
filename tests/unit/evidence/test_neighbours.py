"""Other checkpoints below a directory, and when log entries were written."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from holdfast.checkpoint import read_checkpoint
from holdfast.evidence.neighbours import find_neighbours
from holdfast.evidence.times import collect_times
from holdfast.storage.below import SubdirReader
from holdfast.storage.memory import MemoryStorage

ONE, TWO = (f"{n}f0c0000-0000-4000-8000-000000000000" for n in (1, 2))
ENTRY = b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1763186400000,"conf":{}}\n5'


def checkpoint(name: str, query_id: str) -> dict[str, bytes]:
    return {
        f"{name}/metadata": b'{"id":"%s"}' % query_id.encode(),
        f"{name}/offsets/0": ENTRY,
        f"{name}/offsets/1": ENTRY,
        f"{name}/commits/0": b"v1\n{}",
    }


def test_other_checkpoints_are_found_and_its_own_is_not() -> None:
    root = MemoryStorage({**checkpoint("a", ONE), **checkpoint("deep/b", TWO)})
    own = read_checkpoint(SubdirReader(root, "a"))
    (found,) = find_neighbours(root, own)
    assert found.location == "memory://memory/deep/b"
    assert (found.query_id, found.newest_planned) == (TWO, 1)
    assert (found.began_ms, found.newest_ms) == (0, 1763186400000)
    assert len(find_neighbours(root, replace(own, location=root.location))) == 2


def test_one_without_metadata_has_no_id() -> None:
    files = checkpoint("b", TWO)
    del files["b/metadata"]
    root = MemoryStorage(files)
    (found,) = find_neighbours(root, read_checkpoint(root))
    assert (found.query_id, found.began_ms) == ("", None)


def test_when_both_logs_were_written() -> None:
    times = collect_times(SubdirReader(MemoryStorage(checkpoint("a", ONE)), "a"))
    assert set(times) == {"offsets/0", "offsets/1", "commits/0"}
    assert set(times.values()) == {datetime.fromtimestamp(0, tz=UTC)}
