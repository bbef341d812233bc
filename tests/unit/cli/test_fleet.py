"""`holdfast fleet`: the answer is the first line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from shlex import split

import msgspec
import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.fleet_json import FleetDiffJson, FleetJson
from holdfast.fleet.files import read_rows
from tests import calling
from tests.unit.cli.test_inspect_directory import CLEAN, MIXED, stored, write_to
from tests.unit.evidence.damaged import every

Call = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def scan(capsys: pytest.CaptureFixture[str]) -> Call:
    def call(*arguments: str | Path) -> tuple[int, list[str]]:
        code, out, err = calling.call(capsys, "fleet", "scan", *map(str, arguments))
        return code, (out or err).rstrip("\n").split("\n")

    return call


def test_the_totals_come_first_and_the_worst_next(scan: Call, tmp_path: Path) -> None:
    code, lines = scan(write_to(tmp_path, MIXED))
    assert code == ExitCode.DONE
    assert lines[0].startswith("3 checkpoints in ")
    assert lines[0].endswith(" s: 1 is safe, 1 repeats data, 1 will not start.")
    assert lines[2] == "Worst first:"
    assert lines[3].split()[:3] == ["fails", "orders/eu", "HF203"]
    assert lines[4].split()[:3] == ["repeats", "orders/us", "HF210"]
    assert any(line.startswith("  HF115 copied-checkpoint: 2 checkpoints") for line in lines)
    assert lines[-1] == f"For details: holdfast diagnose {tmp_path}/orders/eu"


def test_check_passes_only_if_every_start_is_safe(scan: Call, tmp_path: Path) -> None:
    write_to(tmp_path, MIXED)
    assert scan(tmp_path, "--check")[0] == ExitCode.FOUND
    assert scan(tmp_path / "raw", "--check")[0] == ExitCode.DONE


def test_state_that_was_not_read_is_said_and_does_not_pass(scan: Call, tmp_path: Path) -> None:
    files = stored({"raw": (CLEAN, every())})
    more = {f"raw/state/0/{number}/1.delta": b"x" for number in range(2, 12)}
    files.files.update(more)
    code, lines = scan(write_to(tmp_path, files), "--check")
    assert code == ExitCode.FOUND
    assert lines[0].endswith(": 1 is safe except for its state, which was not read.")
    assert lines[1].startswith("12 requests did not reach the state of 1: `--requests 60`")


def test_the_json_is_of_the_committed_form(scan: Call, tmp_path: Path) -> None:
    code, lines = scan(write_to(tmp_path, MIXED), "--format", "json", "--owner", "^([^/]+)/")
    assert code == ExitCode.DONE
    found = msgspec.convert(json.loads("\n".join(lines)), FleetJson, strict=True)
    assert found.verdict == "will-not-start"
    assert found.totals.verdicts == {"safe": 1, "repeats-data": 1, "will-not-start": 1}
    assert [(row.path, row.owner) for row in found.checkpoints] == [
        ("orders/eu", "orders"),
        ("orders/us", "orders"),
        ("raw", None),
    ]
    assert found.totals.requests == found.totals.directories + sum(
        row.requests for row in found.checkpoints
    )


def test_the_rows_are_written_where_they_are_asked_for(scan: Call, tmp_path: Path) -> None:
    write_to(tmp_path / "lake", MIXED)
    target = tmp_path / "scan.jsonl"
    _, lines = scan(tmp_path / "lake", "--to", target)
    assert f"Rows: {target}" in lines
    assert sorted(row.path for row in read_rows(str(target))) == ["orders/eu", "orders/us", "raw"]


def test_nothing_found_is_not_fine(scan: Call, tmp_path: Path) -> None:
    code, lines = scan(tmp_path)
    assert code == ExitCode.NOT_JUDGED
    assert lines[0].startswith("No checkpoint was found in ")


@pytest.mark.parametrize("option", [["--owner", "("], ["--to", "x.csv"], ["--requests", "1"]])
def test_wrong_options_are_refused(scan: Call, tmp_path: Path, option: list[str]) -> None:
    assert scan(tmp_path, *option)[0] == ExitCode.USAGE


def test_a_second_scan_and_what_changed(
    scan: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake, scans = write_to(tmp_path / "lake", MIXED), tmp_path / "scans"
    scan(lake, "--to", tmp_path / "first.jsonl")
    (lake / "raw/metadata").write_bytes(b"{")
    _, lines = scan(lake, "--since", tmp_path / "first.jsonl", "--to", scans)
    assert lines[0].endswith(" 1 had not changed since the earlier scan.")
    arguments = ("fleet", "diff", str(tmp_path / "first.jsonl"), str(scans), "--check")
    code, out, _ = calling.call(capsys, *arguments)
    assert code == ExitCode.FOUND
    assert " UTC: 1 newly unsafe, 1 stuck; 1 as before." in out.splitlines()[0]
    code, out, _ = calling.call(capsys, *arguments, "--format", "json")
    found = msgspec.convert(json.loads(out), FleetDiffJson, strict=True)
    assert (found.verdict, found.totals) == ("worse", {"newly-unsafe": 1, "stuck": 1})


def test_a_scan_needs_a_place(scan: Call) -> None:
    assert scan()[0] == ExitCode.USAGE


def test_a_location_that_is_not_there_is_not_an_empty_one(scan: Call, tmp_path: Path) -> None:
    write_to(tmp_path / "lake", MIXED)
    code, lines = scan(tmp_path / "lake/raw", tmp_path / "lakee")
    assert code == ExitCode.NOT_JUDGED
    assert lines[0].endswith(" s: 1 is safe, 1 is not known.")
    assert lines[3].strip().startswith("not known  lakee ")
    assert lines[3].endswith("could not be read: It does not exist.")
    _, lines = scan(tmp_path / "lake/raw/metadata")
    assert "It is a file, and not a directory." in lines[3]


def test_the_next_command_can_be_pasted_whatever_the_name(scan: Call, tmp_path: Path) -> None:
    place = write_to(tmp_path / "a; touch x $(y)", MIXED)
    _, lines = scan(place)
    assert split(lines[-1])[2:] == ["holdfast", "diagnose", f"{place}/orders/eu"]


def test_rows_that_cannot_be_written_are_an_error_of_the_call(scan: Call, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for target in (tmp_path / "file/scans", Path("/proc/scan.jsonl")):
        code, lines = scan(tmp_path, "--to", target)
        assert code == ExitCode.USAGE
        assert " cannot be written: " in lines[2]


def test_scans_of_two_fleets_have_nothing_in_common(
    scan: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        scan(write_to(tmp_path / name, MIXED), "--to", tmp_path / f"{name}.jsonl")
    _, out, _ = calling.call(
        capsys, "fleet", "diff", str(tmp_path / "one.jsonl"), str(tmp_path / "two.jsonl")
    )
    assert out.splitlines()[1].startswith("The two scans have no checkpoint in common")


def test_the_daily_command_works_on_the_first_day(scan: Call, tmp_path: Path) -> None:
    lake, scans = write_to(tmp_path / "lake", MIXED), tmp_path / "scans"
    daily = (lake, "--since", scans, "--to", scans)
    assert "not changed" not in scan(*daily)[1][0]
    assert scan(*daily)[1][0].endswith(" 2 had not changed since the earlier scan.")
    assert scan(lake, "--since", tmp_path / "sacns", "--to", scans)[0] == ExitCode.USAGE
