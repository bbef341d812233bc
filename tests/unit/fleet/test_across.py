"""What only several checkpoints together show."""

from __future__ import annotations

import msgspec

from holdfast.fleet.across import AcrossCheckpoints
from holdfast.fleet.rows import DAY_MS, FleetFinding, FleetRow
from holdfast.judgement.judge import Verdict

NOW = 100 * DAY_MS


def row(path: str, **known: object) -> FleetRow:
    made = FleetRow(
        location=f"s3://lake/{path}",
        path=path,
        verdict=Verdict.SAFE,
        sentence="continues with batch 8",
        query_id=f"id of {path}",
        newest_batch=7,
        newest_ms=NOW - 1_000,
        judged_ms=NOW,
        seen_ms=NOW,
    )
    return msgspec.structs.replace(made, **known)


def across(*rows: FleetRow) -> dict[str, FleetFinding]:
    found = AcrossCheckpoints()
    for each in rows:
        found.add(each)
    return {each.name: each for each in found.findings()}


def test_a_healthy_fleet_has_no_finding() -> None:
    assert across(row("a"), row("b", newest_batch=None, newest_ms=None), row("c")) == {}


def test_one_query_id_twice_is_a_copy_if_both_end_alike() -> None:
    found = across(row("a", query_id="q"), row("b", query_id="q"), row("c"))
    assert list(found) == ["copied-checkpoint"]
    copied = found["copied-checkpoint"]
    assert (copied.locations, copied.number) == (("s3://lake/a", "s3://lake/b"), 2)
    assert list(across(row("a", query_id="q"), row("b", query_id="q", newest_batch=9))) == [
        "query-id-shared"
    ]


def test_a_replaced_generation_shares_its_query_id_with_nobody() -> None:
    assert across(row("a", query_id="q"), row("b", query_id="q", replaced_by=2)) == {}


def test_two_queries_that_name_one_sink() -> None:
    found = across(row("a", sinks=("delta s3://gold",)), row("b", sinks=("delta s3://gold",)))
    assert found["one-sink-two-queries"].number == 2


def test_a_checkpoint_inside_another() -> None:
    assert across(row("a"), row("a/b/c"))["shared-location"].locations == ("s3://lake/a/b/c",)
    assert across(row("a"), row("a-b")) == {}


def test_names_that_change_from_run_to_run() -> None:
    dated = [row(f"orders/run-2026-11-{day}") for day in (14, 15, 16)]
    assert across(*dated)["dated-locations"].number == 3
    assert across(*dated[:2]) == {}


def test_temporary_places() -> None:
    found = across(row("team/tmp/orders"), row("temporary-0f5a9f3e-6f0c-4a4e-9a41-111111111111"))
    assert found["temporary-locations"].number == 2


def test_silence_of_more_than_a_week_by_batch_and_by_file() -> None:
    old = NOW - 8 * DAY_MS
    silent = row("silent", newest_ms=old, written_ms=old, size_bytes=2_000)
    alive = row("alive", newest_ms=old, written_ms=NOW - 1)
    found = across(silent, alive)
    assert found["no-sign-of-life"].locations == ("s3://lake/silent",)
    assert "2.0 kB" in found["no-sign-of-life"].sentence


def test_the_busiest_twenty() -> None:
    found = across(*(row(f"s{each:02}", writes_per_hour=float(each)) for each in range(1, 31)))
    busiest = found["busiest"]
    assert busiest.locations == tuple(f"s3://lake/s{each:02}" for each in range(30, 10, -1))


def test_one_checkpoint_that_was_found_twice_is_no_copy() -> None:
    assert across(row("a"), row("a")) == {}


def test_a_batch_that_is_not_known_is_not_named() -> None:
    found = across(row("a", query_id="q"), row("b", query_id="q", newest_batch=None))
    assert ": q, newest batch 7. If" in found["query-id-shared"].sentence


def test_sources_that_cannot_be_asked_for_their_newest_position() -> None:
    rows = (row("a", sources=("kafka x", "unknown source")), row("b", sources=("kafka x",)))
    found = across(*rows, row("c", sources=("files of Auto Loader",)))
    assert list(found) == ["no-lag-data"]
    assert found["no-lag-data"].locations == ("s3://lake/a", "s3://lake/c")
