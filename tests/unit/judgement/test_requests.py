"""A diagnosis in a bucket asks for what a start needs: requests do not grow with batches."""

from __future__ import annotations

import pytest

from holdfast.judgement.case import DiagnoseRequest, collect_case
from holdfast.judgement.judge import Verdict, judge
from holdfast.storage.below import SubdirReader
from holdfast.storage.location import Location
from holdfast.storage.read import Reader
from tests.unit.checkpoint.counted import Counted

MOST = 15
ENTRY = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n{"sensors":{"0":%d}}'


def bucket(batches: int) -> Counted:
    files = {
        "orders/metadata": b'{"id":"6f0c0000-0000-4000-8000-000000000000"}',
        "orders/sources/0/0": b'\0v1\n{"sensors":{"0":0}}',
    }
    files |= {f"orders/offsets/{batch}": (ENTRY % batch).encode() for batch in range(batches)}
    files |= {f"orders/commits/{batch}": b"v1\n{}" for batch in range(batches)}
    return Counted(files)


@pytest.mark.parametrize("batches", [3, 100, 900])
def test_a_checkpoint_without_state_takes_few_requests(
    monkeypatch: pytest.MonkeyPatch, batches: int
) -> None:
    there = bucket(batches)

    def open_reader(place: str | Location, options: object = None) -> Reader:
        del options
        return SubdirReader(there, "orders") if str(place).endswith("orders") else there

    monkeypatch.setattr("holdfast.bundle.open.open_reader", open_reader)
    found = judge(collect_case(DiagnoseRequest(location="s3://lake/orders")))
    assert found.verdict is Verdict.SAFE
    assert there.requests <= MOST
