"""`holdfast facts` of a guarded stream: every start, how it ended, and with which Spark."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.record.documents import create
from holdfast.record.leases import Lease
from holdfast.record.run_history import RunEnd, UnreadRun, read_history
from holdfast.record.runs import FAILED, FINISHED, LOST, RUNNING, STOPPED, Run, write_run
from tests import calling
from tests.unit.cli.guarding import ELSEWHERE, PLACE, Guarded, contract

KINDS = (FINISHED, STOPPED, FAILED, LOST, RUNNING)
ENDS = {RUNNING: "not-recorded"}
SPARKS = ("4.1.4", "4.2.1")


def run_of(epoch: int) -> Run:
    """The run of an epoch: five kinds of ends in turn, ten runs with each Spark."""
    ended = KINDS[epoch % 5]
    return Run(
        epoch=epoch,
        run_id=f"00000000-0000-4000-8000-{epoch:012d}",
        generation=1,
        contract=contract(PLACE).digest,
        spark=SPARKS[epoch > 10],
        started_at=f"2026-11-16T10:{epoch:02d}:00+00:00",
        first_batch=epoch * 3,
        last_batch=None if ended == RUNNING else epoch * 3 + 2,
        ended=ended,
        ended_at="" if ended == RUNNING else f"2026-11-16T10:{epoch:02d}:30+00:00",
        error="AnalysisException" if ended == FAILED else "",
    )


def lease(epoch: int) -> Lease:
    return Lease(epoch=epoch, owner=ELSEWHERE, token="0" * 32, nonce="1" * 32)


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    found = Guarded(tmp_path)
    found.run(PLACE)  # keeps the contract
    (tmp_path / "_holdfast/readings/runs/000001-9bb81035-0948-45be-8066-013af38cbc13.json").unlink()
    for epoch in range(20):
        write_run(found.record, run_of(epoch + 1))
    assert create(found.record, lease(20))
    for path in (tmp_path / "_holdfast/readings/leases").rglob("*.json"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return found


def facts(capsys: pytest.CaptureFixture[str], root: Path) -> tuple[int, dict[str, Any]]:
    given = ("readings", "--root", str(root), "--format", "json")
    code, out, _ = calling.call(capsys, "facts", *given)
    return code, json.loads(out)


def restarts(found: dict[str, Any]) -> str:
    (fact,) = (each for each in found["facts"] if each["name"] == "restarts")
    return str(fact["value"])


def test_twenty_starts_with_five_kinds_of_ends_are_listed(
    capsys: pytest.CaptureFixture[str], guarded: Guarded, tmp_path: Path
) -> None:
    assert guarded.checkpoint.exists()
    _, found = facts(capsys, tmp_path)
    expected = [
        {
            "epoch": run.epoch,
            "run_id": run.run_id,
            "ended": ENDS.get(run.ended, run.ended),
            "where": run.path,
            "generation": 1,
            "spark": run.spark,
            "started_at": run.started_at,
            "ended_at": run.ended_at or None,
            "error": run.error or None,
            "first_batch": run.first_batch,
            "last_batch": run.last_batch,
            "not_known": None,
        }
        for run in map(run_of, range(20, 0, -1))
    ]
    assert found["starts"] == expected
    assert found["older_starts"] == 0
    assert restarts(found).startswith(
        "20 starts: 4 finished, 4 stopped, 4 failed, 4 lost to another driver, "
        "4 without a recorded end; the newest began 2026-11-16T10:20:00+00:00, finished"
    )


def test_the_text_has_a_row_for_each_start(
    capsys: pytest.CaptureFixture[str], guarded: Guarded, tmp_path: Path
) -> None:
    write_run(guarded.record, run_of(21))
    _, out, _ = calling.call(capsys, "facts", "readings", "--root", str(tmp_path))
    lines = out.splitlines()
    begin = lines.index("Starts, newest first:")
    rows = lines[begin + 2 : begin + 22]
    assert [int(row.split()[0]) for row in rows] == list(range(21, 1, -1))
    failed = next(row for row in rows if row.split()[0] == "17")
    assert failed.split() == [
        *("17", "1", "2026-11-16", "10:17:00", "UTC", "2026-11-16", "10:17:30", "UTC", "4.2.1"),
        *(run_of(17).run_id, "51", "…", "53", "failed", "with", "AnalysisException"),
    ]
    killed = next(row for row in rows if row.split()[0] == "19")
    assert killed.endswith("57 … ?   not recorded: killed, or cut off from the record")
    assert lines[begin + 22] == "  and 1 older start: `--format json` lists all"


def test_the_newest_run_is_running_while_its_lease_is_renewed(
    capsys: pytest.CaptureFixture[str], guarded: Guarded, tmp_path: Path
) -> None:
    write_run(guarded.record, run_of(24))
    assert create(guarded.record, lease(24))
    _, found = facts(capsys, tmp_path)
    ends = {each["epoch"]: each["ended"] for each in found["starts"]}
    assert (ends[24], ends[19], ends[14]) == ("running", "not-recorded", "not-recorded")


HOSTILE = [b"", b"\xff\xfe", b'{"format": "holdfast.run"', b"[" * 5_000, b'{"epoch": 1e999}']


@pytest.mark.parametrize("raw", HOSTILE)
def test_a_damaged_run_is_not_known_and_hides_no_other(
    capsys: pytest.CaptureFixture[str], guarded: Guarded, tmp_path: Path, *, raw: bytes
) -> None:
    path = guarded.checkpoint.parent / "_holdfast/readings" / run_of(7).path
    path.write_bytes(raw)
    _, found = facts(capsys, tmp_path)
    ends = {each["epoch"]: each["ended"] for each in found["starts"]}
    assert len(ends) == 20
    assert [epoch for epoch, ended in ends.items() if ended == "unknown"] == [7]
    (damaged,) = (each for each in found["starts"] if each["epoch"] == 7)
    assert damaged["not_known"]
    assert "1 not known" in restarts(found)


def test_a_word_of_a_newer_version_is_not_known(
    capsys: pytest.CaptureFixture[str], guarded: Guarded, tmp_path: Path
) -> None:
    path = guarded.checkpoint.parent / "_holdfast/readings" / run_of(5).path
    path.write_text(path.read_text().replace('"finished"', '"evaporated"'))
    _, found = facts(capsys, tmp_path)
    ends = {each["epoch"]: each["ended"] for each in found["starts"]}
    assert (ends[5], ends[10]) == ("unknown", "finished")


def test_no_text_of_a_run_steers_the_terminal(
    capsys: pytest.CaptureFixture[str], guarded: Guarded, tmp_path: Path
) -> None:
    path = guarded.checkpoint.parent / "_holdfast/readings" / run_of(17).path
    path.write_text(path.read_text().replace("AnalysisException", "\\u001b[31mred"))
    _, out, _ = calling.call(capsys, "facts", "readings", "--root", str(tmp_path))
    assert "\x1b" not in out
    assert "not known: runs/000017-" in out


def test_runs_beyond_the_most_are_counted(guarded: Guarded) -> None:
    found = read_history(guarded.record, most=15)
    assert [each.epoch for each in found.runs] == list(range(20, 5, -1))
    assert (found.older, found.count, found.unlisted) == (5, 20, None)
    assert not any(isinstance(each, UnreadRun) for each in found.runs)


def test_every_end_has_a_word() -> None:
    assert {RunEnd(ENDS.get(each, each)) for each in KINDS} <= set(RunEnd)


def test_runs_that_cannot_be_listed_are_said(
    capsys: pytest.CaptureFixture[str],
    guarded: Guarded,
    tmp_path: Path,
    *,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from holdfast.errors import ReadError  # noqa: PLC0415 - of this test alone

    assert guarded.checkpoint.exists()

    def fail(_: object) -> None:
        raise ReadError("runs", why="The store answered 403.", how="Ask for access.")

    monkeypatch.setattr("holdfast.record.run_history.run_names", fail)
    code, found = facts(capsys, tmp_path)
    assert code == ExitCode.NOT_JUDGED
    assert found["starts"] is None
    assert "the runs of the stream: The store answered 403" in found["not_read"]
    assert restarts(found).startswith("not all known: The store answered 403; the newest began ")
