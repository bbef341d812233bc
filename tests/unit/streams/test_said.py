"""The one line that a start says of itself: what its evidence tells, and what it does not."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import cast

import pytest

from holdfast.evidence import Query
from holdfast.evidence.collect import collect_stream
from holdfast.evidence.versions import SparkVersion
from holdfast.ids import BatchId
from holdfast.storage.memory import MemoryStorage
from holdfast.streams.announce import announce
from holdfast.streams.guard import Guard
from tests.unit.evidence.damaged import damaged, remove
from tests.unit.evidence.test_collect import places, row

PARTITIONS = b'"spark.sql.shuffle.partitions":"%d"'


def said(
    storage: MemoryStorage, caplog: pytest.LogCaptureFixture, *, spark: SparkVersion = (4, 2)
) -> str:
    query = Query(sources=1, operators=("stateStoreSave",))
    guard = SimpleNamespace(
        spark=spark, query=query, lease=SimpleNamespace(epoch=3, owner="me on here")
    )
    with caplog.at_level(logging.INFO, logger="holdfast"):
        announce(collect_stream(places(storage, row(5))), cast("Guard", guard))
    return caplog.messages[-1]


def test_state_whose_tables_are_gone_is_seen(caplog: pytest.LogCaptureFixture) -> None:
    storage = damaged("4.2-aggregation-rocksdb", remove("state/0/0/SSTs/*.sst"))
    assert "will be refused by Spark" in said(storage, caplog)


def test_a_batch_is_named_also_when_the_state_was_not_looked_at(
    caplog: pytest.LogCaptureFixture,
) -> None:
    files = damaged("4.2-aggregation").files
    many = {path: raw.replace(PARTITIONS % 2, PARTITIONS % 200) for path, raw in files.items()}
    line = said(MemoryStorage(many), caplog)
    assert "begins batch 6 (whether Spark can load what it needs is unknown: state/ was not" in line


def test_nothing_is_added_when_all_is_known(caplog: pytest.LogCaptureFixture) -> None:
    line = said(damaged("4.2-aggregation"), caplog)
    assert f"begins batch {BatchId(6)}; owner me on here; spark 4.2" in line


@pytest.mark.parametrize(("spark", "shown"), [((4, 2), "4.2"), ((4, 2, 0), "4.2.0")])
def test_the_release_is_named_where_it_differs_from_its_version(
    caplog: pytest.LogCaptureFixture, spark: SparkVersion, shown: str
) -> None:
    line = said(damaged("4.2-aggregation"), caplog, spark=spark)
    assert line.endswith(f"owner me on here; spark {shown}")
