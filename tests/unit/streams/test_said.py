"""The one line that a start says of itself: what its evidence tells, and what it does not."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import cast

import pytest

from holdfast.errors import ReadError
from holdfast.evidence import Query
from holdfast.evidence.collect import collect_stream
from holdfast.ids import BatchId
from holdfast.record.leases import Lease, Waiting
from holdfast.rules import RULES
from holdfast.spark_versions import SparkVersion
from holdfast.storage.memory import MemoryStorage
from holdfast.streams.accepting import Accepted
from holdfast.streams.announce import WaitingTeller, announce
from holdfast.streams.guard import Guard
from tests.unit.evidence.damaged import damaged, remove
from tests.unit.evidence.test_collect import places, row

RULES_BY_CODE = {rule.code: rule for rule in RULES}
PARTITIONS = b'"spark.sql.shuffle.partitions":"%d"'


def said(
    storage: MemoryStorage, caplog: pytest.LogCaptureFixture, *, spark: SparkVersion = (4, 2)
) -> str:
    query = Query(sources=1, operators=("stateStoreSave",))
    guard = SimpleNamespace(
        spark=spark,
        query=query,
        lease=SimpleNamespace(epoch=3, owner="me on here"),
        place=SimpleNamespace(checkpoint=storage, plan_root="/srv/streams"),
    )
    with caplog.at_level(logging.INFO, logger="holdfast"):
        announce(collect_stream(places(storage, row(5))), cast("Guard", guard), Accepted())
    return caplog.messages[-1]


def test_state_whose_tables_are_gone_is_seen(caplog: pytest.LogCaptureFixture) -> None:
    storage = damaged("4.2-aggregation-rocksdb", remove("state/0/0/SSTs/*.sst"))
    advice = said(storage, caplog)
    assert "will be refused by Spark" in caplog.messages[-2]
    assert advice.startswith("holdfast: readings: HF4")
    assert "What to do (" in advice


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


def test_a_batch_that_the_operator_says_is_there_is_not_said_to_be_missing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The ledger row is written by the fence: what was read before it does not know the answer."""
    storage = damaged("4.2-aggregation", remove("commits/5"))
    evidence = collect_stream(places(storage, row(4)))
    (sink,) = evidence.sinks
    held = RULES_BY_CODE["HF612"].find(
        what="", how="", follows_from=("offsets/5",), sink=sink.sink, accepted_batch=5
    )
    guard = SimpleNamespace(
        spark=(4, 2),
        query=Query(sources=1, operators=("stateStoreSave",)),
        lease=SimpleNamespace(epoch=3, owner="me on here"),
    )
    for accepted, said_of in ((Accepted(), "not in the sink yet"), (Accepted((held,)), "already")):
        with caplog.at_level(logging.INFO, logger="holdfast"):
            announce(evidence, cast("Guard", guard), accepted)
        assert f"resumes at batch 5 (pending, {said_of}" in caplog.messages[-1]


def test_a_damaged_entry_is_said_with_the_command_that_a_diagnosis_prints(
    caplog: pytest.LogCaptureFixture,
) -> None:
    storage = damaged("4.2-aggregation")
    storage.files["offsets/5"] = b""
    del storage.files["commits/5"]
    advice = said(storage, caplog)
    assert "will be refused by Spark: offsets/5" in caplog.messages[-2]
    assert advice.startswith("holdfast: readings: HF202 entry-unreadable. What to do (resume): ")
    assert "holdfast plan resume readings --root /srv/streams" in advice


def test_a_checkpoint_that_cannot_be_read_again_is_left_to_a_diagnosis(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(_: object) -> None:
        raise ReadError("offsets", why="the store does not answer", how="Try again.")

    monkeypatch.setattr("holdfast.streams.announce.collect", unreadable)
    storage = damaged("4.2-aggregation-rocksdb", remove("state/0/0/SSTs/*.sst"))
    assert said(storage, caplog) == (
        "holdfast: readings: To see what is wrong, run: "
        "holdfast diagnose readings --root /srv/streams"
    )


def test_the_seconds_of_a_wait_only_fall(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = cast("Lease", SimpleNamespace(term_s=30, owner="a", epoch=3, taken_at="now"))
    teller, now = WaitingTeller(), [0.0]
    monkeypatch.setattr("holdfast.clock.monotonic", lambda: now[0])
    with caplog.at_level(logging.WARNING, logger="holdfast"):
        # A heartbeat comes every ten seconds, and begins the term again.
        for second in range(40):
            now[0] = float(second)
            left = 30.0 - second % 10
            teller(
                Waiting(
                    stream="readings",
                    lease=lease,
                    seconds_left=left,
                    seconds_waited=second,
                    is_renewed=second >= 10,
                )
            )
    ends = [message.partition("so far. ")[2] for message in caplog.messages]
    assert ends == [
        "If that driver is gone, this start goes on in 30 s; if it lives, this start ends in "
        "LEASE_HELD within 45 s",
        "That driver is running. Unless it stops, this start ends in LEASE_HELD within 35 s",
        "That driver is running. Unless it stops, this start ends in LEASE_HELD within 25 s",
        "That driver is running. Unless it stops, this start ends in LEASE_HELD within 15 s",
    ]
