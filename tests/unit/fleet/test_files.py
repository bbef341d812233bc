"""Scans as files: read back as they were written, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.cli.mcp_server.roots import Roots
from holdfast.confinement import OutsideRootsError, confined_by
from holdfast.errors import ConfigError
from holdfast.fleet import files
from holdfast.fleet.files import file_for, read_rows, write_rows
from holdfast.fleet.rows import FleetRow, parse_row, to_record
from tests.unit.fleet.test_across import row

ROWS = [row("a", sinks=("x", "y"), codes=("HF203",), writes_per_hour=1.5), row("b", query_id=None)]


@pytest.mark.parametrize("name", ["scan.parquet", "scan.jsonl"])
def test_rows_are_read_back_as_they_were_written(tmp_path: Path, name: str) -> None:
    path = file_for(str(tmp_path / name))
    assert list(write_rows(path, ROWS)) == ROWS
    assert list(read_rows(str(path))) == ROWS
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_a_directory_keeps_every_scan_and_the_newest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = str(tmp_path / "scans")
    list(write_rows(file_for(history), ROWS))
    list(write_rows(file_for(history), ROWS[:1]))
    assert len(list((tmp_path / "scans").iterdir())) == 2
    assert list(read_rows(history)) == ROWS[:1]
    monkeypatch.setattr(files, "has_pyarrow", lambda: False)
    assert file_for(history).suffix == ".jsonl"


@pytest.mark.parametrize("name", ["scan.parquet", "scan.jsonl"])
def test_an_interrupted_scan_leaves_no_file(tmp_path: Path, name: str) -> None:
    def broken() -> Iterator[FleetRow]:
        yield ROWS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(write_rows(file_for(str(tmp_path / name)), broken()))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "raw"),
    [("x.jsonl", b"{}\n"), ("x.jsonl", b"["), ("x.jsonl", b"1\n"), ("x.parquet", b"PAR1")],
)
def test_what_is_no_scan_is_refused(tmp_path: Path, name: str, raw: bytes) -> None:
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(ConfigError):
        list(read_rows(str(tmp_path / name)))


def test_a_target_of_another_kind_is_refused(tmp_path: Path) -> None:
    for name in ("scan.csv", "missing/scan.jsonl"):
        with pytest.raises(ConfigError):
            file_for(str(tmp_path / name))
    for name in ("", "none.jsonl"):
        with pytest.raises(ConfigError):
            list(read_rows(str(tmp_path / name)))


def test_other_files_beside_the_scans_are_not_the_newest_scan(tmp_path: Path) -> None:
    list(write_rows(file_for(str(tmp_path)), ROWS))
    list(write_rows(file_for(str(tmp_path / "yesterday.jsonl")), ROWS[:1]))
    assert list(read_rows(str(tmp_path))) == ROWS


@pytest.mark.parametrize(
    "changed",
    [{"seen_ms": 10**17}, {"newest_ms": -(10**17)}, {"so_far": "safe"}, {"verdict": "later"}],
)
def test_what_no_scan_can_have_written_is_refused(changed: dict[str, object]) -> None:
    assert parse_row(to_record(ROWS[0])) == ROWS[0]
    assert parse_row({**to_record(ROWS[0]), **changed}) is None


def test_a_scan_behind_a_link_is_not_read_outside_the_roots(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = file_for(str(tmp_path / "fleet-9.jsonl"))
    list(write_rows(path, ROWS))
    (tmp_path / "in/fleet-9.jsonl").symlink_to(path)
    assert list(read_rows(str(tmp_path / "in"))) == ROWS
    with confined_by(Roots([str(tmp_path / "in")])), pytest.raises(OutsideRootsError):
        list(read_rows(str(tmp_path / "in")))
