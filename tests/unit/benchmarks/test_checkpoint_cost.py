"""How the cost of a checkpoint is counted and shown."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.checkpoint_cost import (
    DISK,
    HEADS,
    ON_S3,
    Batch,
    Measured,
    kind_of,
    place_of,
    read_batch,
    table,
)
from benchmarks.checkpoint_ways import WAYS
from lab.faults.s3_proxy import SeenRequest


def request(method: str, path: str = "/lake/cost/4/offsets/7", **more: Any) -> SeenRequest:
    return SeenRequest(method=method, path=path, agent="Hadoop", **{"query": "", **more})


@pytest.mark.parametrize(
    ("seen", "kind", "place"),
    [
        (request("PUT"), "PUT", "offsets"),
        (request("PUT", "/lake/cost/4/commits/7", is_copy=True), "COPY", "commits"),
        (request("GET", "/lake/", query="list-type=2&prefix=cost%2F4%2Fstate%2F0%2F1%2F"), "LIST",
         "state"),
        (request("HEAD", "/lake/cost/4/sources/0/3"), "HEAD", "sources"),
        (request("POST", "/lake/", query="delete"), "POST", "else"),
    ],
)  # fmt: skip
def test_a_request_is_what_the_store_charges_for(seen: SeenRequest, kind: str, place: str) -> None:
    assert (kind_of(seen), place_of(seen)) == (kind, place)


def test_half_of_the_state_commits_and_both_logs_are_the_checkpoints_time() -> None:
    progress = {
        "durationMs": {"triggerExecution": 1000, "walCommit": 100, "commitOffsets": 50},
        "stateOperators": [{"commitTimeMs": 300}, {"commitTimeMs": 100}],
    }
    assert read_batch(progress) == Batch(total_ms=1000, checkpoint_ms=350)


@pytest.mark.parametrize("store", [DISK, ON_S3])
def test_a_row_has_a_cell_under_each_head(store: str) -> None:
    found = [
        Measured(
            way=way,
            store=store,
            batches=[Batch(total_ms=100.0 + n, checkpoint_ms=50) for n in range(4)],
            requests=[{"PUT offsets": 1.0, "COPY offsets": 1.0, "HEAD state": 4.0}] * 2,
            sent_bytes=[1_500.0, 2_500.0],
        )
        for way in WAYS
    ]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table(store, found)]
    assert {len(cells) for cells in lines} == {len(HEADS[store])}
    assert [cells[0] for cells in lines[2:]] == [way.name for way in WAYS]
    if store == ON_S3:
        assert lines[2][4:8] == ["2.0 (2.0 to 2.0)", "4.0 (4.0 to 4.0)", "0.0 (0.0 to 0.0)",
                                 "2.0 (1.5 to 2.5)"]  # fmt: skip


def test_every_way_is_compared_with_one_that_is_measured() -> None:
    names = [way.name for way in WAYS]
    assert len(set(names)) == len(names)
    for number, way in enumerate(WAYS):
        assert not way.base or way.base in names[:number]
