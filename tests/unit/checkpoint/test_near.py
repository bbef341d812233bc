"""Reading what a start needs: the same number of requests however much there is."""

from __future__ import annotations

import pytest

from holdfast.checkpoint.read import read_checkpoint, read_checkpoint_near, read_logs_again
from holdfast.checkpoint.state.bounded import MOST_STORES
from holdfast.ids import BatchId
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.read import PAGE_ENTRIES
from tests.unit.checkpoint.counted import Counted

QUERY = b'{"id":"6f0c0000-0000-4000-8000-000000000000"}'
OPERATOR = (
    b'v1\n{"operatorInfo":{"operatorId":0,"operatorName":"dedupe"},'
    b'"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":2}]}'
)


ID = "00000000-0000-4000-8000-000000000001"


def entry(offset: str, partitions: int = 2) -> bytes:
    conf = f'{{"spark.sql.shuffle.partitions":"{partitions}"}}'
    return f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{conf}}}\n{offset}'.encode()


def logs(first: int, last: int, *, partitions: int = 2, pending: bool = False) -> dict[str, bytes]:
    """Return the logs of a query that kept these batches."""
    offsets = {f"offsets/{n}": entry(str(n), partitions) for n in range(first, last + 1)}
    commits = {f"commits/{n}": b"v1\n{}" for n in range(first, last + (not pending))}
    return {"metadata": QUERY, **offsets, **commits}


def state(partitions: int, versions: int) -> dict[str, bytes]:
    files = {
        f"state/0/{partition}/{version}.delta": b"x"
        for partition in range(partitions)
        for version in range(1, versions + 1)
    }
    return {"state/0/_metadata/metadata": OPERATOR, **files}


def requests(files: dict[str, bytes], near: int | None) -> int:
    store = Counted(files)
    read_checkpoint_near(store, None if near is None else BatchId(near))
    return store.requests


STATELESS, STATEFUL = 8, 11
"""Requests of a start, without state and with state of which only the schema is looked at."""


@pytest.mark.parametrize(
    ("kept", "last"), [(100, 54_321), (10_000, 54_321), (100, 10_000), (10_000, 10_000)]
)
def test_batches_that_are_kept_cost_nothing(kept: int, last: int) -> None:
    assert requests(logs(last - kept + 1, last), last) == STATELESS


@pytest.mark.parametrize(("partitions", "versions"), [(20, 100), (200, 110), (1_000, 109)])
def test_objects_of_the_state_cost_nothing(partitions: int, versions: int) -> None:
    files = {**logs(1, 109, partitions=partitions), **state(partitions, versions)}
    assert requests(files, 109) == STATEFUL


def test_a_pending_batch_costs_what_is_read_of_it() -> None:
    """Its entry, and its commit entry once more."""
    found = requests(logs(1, 101, pending=True), 100)
    assert requests(logs(1, 10_001, pending=True), 10_000) == found
    assert found - STATELESS == 2


def test_without_a_hint_the_logs_are_listed_and_not_read() -> None:
    assert requests(logs(1, 997), None) == STATELESS + 1


def test_only_the_entries_that_a_start_needs_are_read() -> None:
    found = read_checkpoint_near(MemoryStorage(logs(0, 50)), BatchId(50))
    assert list(found.offsets) == [49, 50]
    assert list(found.commits) == [50]
    assert found.first_read == 49
    pending = read_checkpoint_near(MemoryStorage(logs(0, 51, pending=True)), BatchId(50))
    assert (list(pending.offsets), list(pending.commits)) == ([49, 50, 51], [50])


@pytest.mark.parametrize("near", [-1, 0, 5, 47, 52, 10_000])
def test_a_hint_that_does_not_fit_is_not_believed(near: int) -> None:
    found = read_checkpoint_near(MemoryStorage(logs(0, 50)), BatchId(near))
    assert max(found.offsets) == max(found.commits) == 50


@pytest.mark.parametrize(
    "odd",
    [
        {"offsets/57": entry("57")},
        {"commits/57": b"v1\n{}"},
        {"offsets/50": entry("-")},
        {"offsets/49": entry("-")},
        {"offsets/50": entry("1\n2")},
    ],
)
def test_what_only_the_whole_logs_tell_is_read_from_them(odd: dict[str, bytes]) -> None:
    storage = MemoryStorage({**logs(40, 50), **odd})
    found = read_checkpoint_near(storage, BatchId(50))
    whole = read_checkpoint(storage)
    assert (found.offsets, found.commits) == (whole.offsets, whole.commits)
    assert found.first_read is None


class TestState:
    def test_is_read_like_any_other_where_it_is_small(self) -> None:
        storage = MemoryStorage({**logs(1, 5, partitions=8), **state(MOST_STORES, 6)})
        found = read_checkpoint_near(storage, BatchId(5))
        assert found.state == read_checkpoint(storage).state
        assert found.state_unread is None

    @pytest.mark.parametrize(
        ("files", "why"),
        [
            ({**logs(1, 5, partitions=9), **state(9, 6)}, "it has 9 partitions"),
            ({**logs(1, 5), **state(9, 6)}, "it has 9 partitions"),
            ({**logs(1, 5), **state(2, PAGE_ENTRIES)}, "state/0/0 has 1,000 files or more"),
            (
                {
                    **logs(1, 5),
                    **state(2, 6),
                    **{f"state/0/0/left{n}/1.delta": b"" for n in range(9)},
                },
                "it has 11 stores",
            ),
            (
                {
                    **logs(1, 5),
                    **state(1, 1),
                    **{f"state/0/0/{n}_{ID}.changelog": b"" for n in range(1, 34)},
                },
                "commit entries of 33 batches say which of its files count",
            ),
            (
                {
                    **logs(1, 5),
                    **state(2, 6),
                    **{f"state/0/_metadata/v2/{n}": OPERATOR for n in range(70)},
                },
                "state/0/_metadata has 71 files",
            ),
        ],
        ids=["pinned", "listed", "files", "stores", "versions", "starts"],
    )
    def test_is_described_and_not_looked_at_where_it_is_large(
        self, files: dict[str, bytes], why: str
    ) -> None:
        found = read_checkpoint_near(MemoryStorage(files), BatchId(5))
        assert found.state_unread is not None
        assert found.state_unread.startswith(why)
        (operator,) = found.state
        assert (operator.name, operator.stores) == ("dedupe", ())

    def test_of_format_2_the_commits_that_name_its_files_are_read(self) -> None:
        files = {f"state/0/0/{n}_{ID}.changelog": b"" for n in range(7, 12)}
        storage = MemoryStorage({**logs(1, 10), **files})
        found = read_checkpoint_near(storage, BatchId(10))
        assert list(found.commits) == [6, 7, 8, 9, 10]
        assert list(found.offsets) == [9, 10]

    def test_of_an_operator_described_at_every_start_the_newest_description_is_read(self) -> None:
        newest = OPERATOR.replace(b"v1\n", b"v2\n").replace(b"dedupe", b"newest")
        older = newest.replace(b"newest", b"older")
        files = {f"state/0/_metadata/v2/{n}": older for n in range(99)}
        files["state/0/_metadata/v2/100"] = newest
        storage = MemoryStorage({**logs(1, 5, partitions=200), **files})
        (operator,) = read_checkpoint_near(storage, BatchId(5)).state
        assert operator.name == "newest"

    def test_described_too_often_has_no_name(self) -> None:
        files = {f"state/0/_metadata/v2/{n}": OPERATOR for n in range(PAGE_ENTRIES)}
        storage = MemoryStorage({**logs(1, 5, partitions=200), **files})
        (operator,) = read_checkpoint_near(storage, BatchId(5)).state
        assert operator.name is None
        assert operator.unparsed[0].unread


class TestSourceLog:
    """The log of a file source with more files than a page."""

    FILE = b'v1\n{"path":"file:///in/f","timestamp":1,"batchId":0}'

    def make(self, last: int, compact: int) -> dict[str, bytes]:
        plain = {f"sources/0/{n}": self.FILE for n in range(last + 1) if n != compact}
        ends = {f"offsets/{n}": entry(f'{{"logOffset":{n}}}') for n in (last - 1, last)}
        files = {**logs(last - 1, last), **ends, **plain}
        return {**files, f"sources/0/{compact}.compact": self.FILE}

    def test_is_read_from_its_newest_compact_file_on(self) -> None:
        storage = MemoryStorage(self.make(2_005, 1_999))
        (log,) = read_checkpoint_near(storage, BatchId(2_005)).sources
        assert log.compacts == (1_999,)
        assert log.entries == tuple(range(2_000, 2_006))

    def test_costs_the_same_however_long_it_is(self) -> None:
        assert requests(self.make(2_005, 1_999), 2_005) == requests(
            self.make(20_005, 19_999), 20_005
        )

    def test_that_is_damaged_is_named(self) -> None:
        storage = MemoryStorage({**self.make(2_005, 1_999), "sources/0/2003": b""})
        (log,) = read_checkpoint_near(storage, BatchId(2_005)).sources
        assert [each.path for each in log.unparsed] == ["sources/0/2003"]

    def test_that_is_compacted_rarely_is_listed(self) -> None:
        storage = MemoryStorage(self.make(2_005, 3))
        (log,) = read_checkpoint_near(storage, BatchId(2_005)).sources
        assert len(log.entries) == 2_005


@pytest.mark.parametrize("newest", [1, 2, 8, 9, 10, 11, 12, 98, 99, 100, 101, 102, 1_000])
@pytest.mark.parametrize("pending", [False, True])
def test_where_numbers_get_one_digit_more_the_newest_entries_are_read(
    newest: int, *, pending: bool
) -> None:
    """Names are not padded, so a page of them is not in the order of numbers."""
    files = logs(0, newest, pending=pending)
    for near in range(max(newest - 3, 0), newest + 3):
        found = read_checkpoint_near(MemoryStorage(files), BatchId(near))
        done = newest - 1 if pending else newest
        assert (max(found.offsets), max(found.commits)) == (newest, done), near


def test_a_page_that_does_not_reach_an_entry_is_not_believed_to_lack_it() -> None:
    """A thousand stray files sort before the entries after the newest batch that is known."""
    stray = {f"offsets/100.{number:04}": b"" for number in range(PAGE_ENTRIES)}
    for last in (100, 101):
        found = read_checkpoint_near(MemoryStorage({**logs(90, last), **stray}), BatchId(100))
        assert (max(found.offsets), max(found.commits)) == (last, last)


def test_the_logs_can_be_read_again_alone() -> None:
    storage = Counted({**logs(1, 50, partitions=200), **state(200, 1)})
    before = read_checkpoint_near(storage, BatchId(50))
    storage.files |= logs(50, 51)
    storage.requests = 0
    after = read_logs_again(storage, before)
    assert (max(after.offsets), max(after.commits)) == (51, 51)
    assert (after.state, after.state_unread) == (before.state, before.state_unread)
    assert storage.requests <= STATELESS


def test_entries_behind_a_gap_with_one_digit_more_are_seen() -> None:
    """An older copy was put over the checkpoint, and what is newer was not deleted."""
    files = {**logs(850, 950), **logs(1_000, 1_100)}
    near = read_checkpoint_near(MemoryStorage(files), BatchId(950))
    assert (max(near.offsets), max(near.commits)) == (1_100, 1_100)
