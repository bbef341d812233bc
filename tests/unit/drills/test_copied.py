"""A drill that begins from a copy of a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.drills.copied import copy_checkpoint, go_on_from
from holdfast.drills.phases import CHECKPOINT, SINK
from holdfast.errors import ConfigError


def checkpoint(directory: Path) -> dict[str, bytes]:
    files = {
        "metadata": b"m",
        "commits/6": b"c",
        "commits/.6.crc": b"crc",
        "offsets/7": b"o",
        "sources/0/5.compact": b"s",
        "sources/0/7": b"s",
        "state/0/0/7.zip": b"",
    }
    for path, content in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(content)
    return files


def test_every_file_is_copied_and_nothing_is_changed(tmp_path: Path) -> None:
    files = checkpoint(tmp_path / "theirs")
    before = {path: path.stat() for path in (tmp_path / "theirs").rglob("*") if path.is_file()}
    copy_checkpoint(str(tmp_path / "theirs"), tmp_path / "ours")
    copied = (path for path in (tmp_path / "ours").rglob("*") if path.is_file())
    found = {str(path.relative_to(tmp_path / "ours")): path.read_bytes() for path in copied}
    assert found == files
    assert before == {path: path.stat() for path in before}


def test_a_directory_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "metadata").touch()
    with pytest.raises(ConfigError, match="no checkpoint"):
        copy_checkpoint(str(tmp_path), tmp_path / "ours")


def test_the_kills_go_on_from_the_newest_batch(tmp_path: Path) -> None:
    checkpoint(tmp_path)
    kills = {
        phase.name: [str(kill) for kill in phase.kills]
        for phase in go_on_from(tmp_path, [*CHECKPOINT, *SINK])
    }
    assert kills["offsets-before"] == ["before:offsets/8:1", "before:offsets/11:1"]
    assert kills["commits-after"] == ["after:commits/7:1", "after:commits/10:1"]
    assert kills["source-log-after"] == ["after:sources/0/8:1", "after:sources/0/11:1"]
    assert kills["sink-decided"] == ["at:S3:1", "at:S3:3"]


def test_without_a_checkpoint_they_begin_with_the_first(tmp_path: Path) -> None:
    assert go_on_from(tmp_path / "nothing", CHECKPOINT) == list(CHECKPOINT)
