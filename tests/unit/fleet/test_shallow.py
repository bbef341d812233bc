"""A shallow look: few requests, the verdict of a complete look, and nothing unread that is fine."""

from __future__ import annotations

import pytest

from holdfast.errors import ReadError
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.overview import overview_of
from holdfast.fleet.rows import FleetRow
from holdfast.fleet.shallow import ShallowReader
from holdfast.judgement.judge import Verdict, judge
from holdfast.storage.memory import MemoryStorage
from tests.unit.checkpoint.archives import ARCHIVES
from tests.unit.evidence.damaged import Damage, damaged, every, remove, rewrite
from tests.unit.fleet.scanning import Counted, scan_one

NEWEST = [name for name in ARCHIVES if name.startswith("4.2")]
KAFKA, CLEAN = "4.2-kafka", "4.2-aggregation"


def verdict_alone(storage: MemoryStorage) -> Verdict:
    overview = overview_of(collect(storage))
    return judge(Case(checkpoint=overview.checkpoint, overview=overview)).verdict


@pytest.mark.parametrize("name", NEWEST)
def test_the_verdict_is_that_of_a_complete_look_or_open(name: str) -> None:
    storage = damaged(name, every())
    row, alone = scan_one(storage), verdict_alone(storage)
    assert (row.so_far or row.verdict) is alone
    assert row.requests <= 12
    if row.verdict is not alone:
        assert row.verdict is Verdict.UNKNOWN
        assert row.not_read
        assert scan_one(storage, requests=60).verdict is alone


DAMAGE: dict[str, Damage] = {
    "offsets-gap": remove("offsets/5"),
    "no-metadata": remove("metadata"),
    "no-commits": remove("commits/*"),
    "no-offsets": remove("offsets/*"),
    "empty-offset": rewrite("offsets/6", lambda _: b""),
    "torn-offset": rewrite("offsets/6", lambda _: b"v1\n{"),
    "torn-metadata": rewrite("metadata", lambda _: b"{"),
    "torn-commit": rewrite("commits/6", lambda _: b"v1\n{"),
    "pending": remove("commits/6"),
    "commits-ahead": remove("offsets/6"),
}


@pytest.mark.parametrize("name", list(DAMAGE))
def test_a_damaged_log_gets_the_verdict_of_a_complete_look(name: str) -> None:
    storage = damaged(KAFKA, DAMAGE[name])
    row = scan_one(storage)
    assert row.verdict is verdict_alone(storage)
    assert row.requests <= 12


def test_requests_are_counted_as_the_store_sees_them() -> None:
    counted = Counted(damaged(KAFKA, every()).files)
    row = scan_one(counted)
    assert row.requests == counted.requests
    assert row.requests <= 9


def test_one_operator_costs_nine_requests() -> None:
    counted = Counted(damaged(CLEAN, every()).files)
    row = scan_one(counted)
    assert row.operators == ("stateStoreSave",)
    assert (row.requests, counted.requests) == (9, 9)


def test_a_batch_that_was_committed_after_the_listing_is_not_pending() -> None:
    """A running query: its commit entry arrives between the page and the reads."""

    class Running(MemoryStorage):
        def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
            self.files.setdefault("commits/6", b'v1\n{"nextBatchWatermarkMs":0}')
            return super().read(path, start=start, length=length)

    row = scan_one(Running(damaged(KAFKA, remove("commits/6")).files))
    assert (row.verdict, row.committed_batch) == (Verdict.SAFE, 6)


def test_beyond_the_limit_a_request_is_refused_and_named() -> None:
    reader = ShallowReader(damaged(KAFKA, every()), most=2)
    reader.look()
    assert reader.read("metadata") is not None
    with pytest.raises(ReadError, match="offsets/6"):
        reader.read("offsets/6")
    assert reader.refused == ["offsets/6"]


def test_much_state_is_not_read_and_said() -> None:
    files = dict(damaged(CLEAN, every()).files)
    for partition in range(2, 40):
        for version in range(1, 31):
            files[f"state/0/{partition}/{version}.delta"] = b"x"
    row = scan_one(MemoryStorage(files))
    assert (row.verdict, row.so_far, row.is_state_unread) == (
        Verdict.UNKNOWN,
        Verdict.SAFE,
        True,
    )
    assert not row.is_all_listed
    assert any(each.startswith("state/") for each in row.not_read)
    assert row.requests <= 12


def test_a_large_source_log_is_not_read_and_said() -> None:
    files = dict(damaged("4.2-file-source", every()).files)
    compact = next(path for path in files if path.endswith(".compact"))
    files = {path: raw for path, raw in files.items() if not path.startswith("sources/0/")}
    files[compact] = b"v1\n" + b'{"path":"f","timestamp":1,"batchId":9}\n' * 300_000
    row: FleetRow = scan_one(Counted(files))
    assert any("listed and not read" in each for each in row.not_read)
    assert row.requests <= 12
