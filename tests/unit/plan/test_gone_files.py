"""A reset counts the input files that are gone: what they brought is only in the output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import run

FILES = 4


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Return the checkpoint of a plain stream that has read a directory, one file in a batch."""
    home, landing = tmp_path / "checkpoints/counts", tmp_path / "landing files"
    for directory in ("offsets", "commits", "sources/0"):
        (home / directory).mkdir(parents=True)
    landing.mkdir()
    (home / "metadata").write_text('{"id":"9d1f0000-0000-4000-8000-000000000001"}')
    for batch in range(FILES):
        file = landing / f"{batch}.json"
        file.write_text("{}")
        line = {"batchWatermarkMs": 0, "batchTimestampMs": 1_700_000_000_000 + batch, "conf": {}}
        lines = ("v1", json.dumps(line), json.dumps({"logOffset": batch}))
        (home / f"offsets/{batch}").write_text("\n".join(lines))
        (home / f"commits/{batch}").write_text('v1\n{"nextBatchWatermarkMs":0}')
        entry = {"path": file.as_uri(), "timestamp": 1_700_000_000_000, "batchId": batch}
        (home / f"sources/0/{batch}").write_text(f"v1\n{json.dumps(entry)}")
    return home


def planned(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> str:
    words = ["plan", "reset", str(checkpoint), "--from", "earliest", "--output", "truncate"]
    with pytest.raises(SystemExit) as exited:
        run([*words, "--sink", str(checkpoint.parents[1] / "out")])
    assert exited.value.code == ExitCode.DONE
    return capsys.readouterr().out


def test_nothing_is_lost_while_every_file_is_there(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = planned(checkpoint, capsys)
    assert "lost for good         nothing" in out
    assert "skips-data" not in out


def test_files_that_are_gone_are_counted_and_need_a_permission(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        (checkpoint.parents[1] / f"landing files/{number}.json").unlink()
    out = planned(checkpoint, capsys)
    assert "lost for good         2 files" in out
    assert "--allow skips-data:counts   counts: 2 files that were read before cannot be " in out


def test_a_log_with_a_gap_is_not_taken_for_complete(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkpoint / "sources/0/1").unlink()
    out = planned(checkpoint, capsys)
    assert "its log does not have every entry any more" in out
    assert "lost for good         nothing" not in out
    assert "--allow skips-data:counts" in out
