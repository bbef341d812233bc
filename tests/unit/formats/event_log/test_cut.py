"""A log that is cut anywhere tells less and nothing wrong, and says that something is missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holdfast.formats.event_log.history import EventLogHistory, RunEnding
from holdfast.formats.event_log.lines import Lines
from holdfast.formats.event_log.parsing import parse_event
from holdfast.formats.event_log.read import read_event_log
from holdfast.formats.event_log.unpacking import Unpacking
from holdfast.formats.event_log.zstd_frames import MAGIC
from holdfast.storage.open import open_reader
from tests.event_logs import Recorded, recorded


def _judge(cut: EventLogHistory, full: EventLogHistory) -> None:
    """Fail if a history says something wrong, or does not say that it is cut."""
    assert list(cut.batches) == list(full.batches)[: len(cut.batches)]
    for run, whole in zip(cut.runs, full.runs, strict=False):
        assert run.run_id == whole.run_id
        assert run.ending in (whole.ending, RunEnding.NOT_IN_LOG)
        assert run.began_at == whole.began_at
        assert run.error in (whole.error, None)
    is_complete = (cut.runs, cut.batches) == (full.runs, full.batches)
    says_so = cut.without_end or cut.unread or not cut.applications or not cut.runs
    assert is_complete or says_so


def _read(log: Recorded, directory: Path) -> EventLogHistory:
    return read_event_log(str(directory), query_id=log.query_id)


def _short(log: Recorded) -> bytes:
    """Return the lines of a log that tell of a stream or its application, without settings."""
    reader = open_reader(str(log.file.parent))
    kept = [
        line
        for line in Lines(Unpacking(reader, log.file.name))
        if b"EnvironmentUpdate" not in line and parse_event(line) is not None
    ]
    return b"".join(line + b"\n" for line in kept if len(line) < 1_500)


@pytest.mark.parametrize("name", ["3.5-failed", "4.2-failed"])
def test_a_log_that_is_cut_at_every_byte(name: str, tmp_path: Path) -> None:
    log = recorded(name)
    text = _short(log)
    file = tmp_path / "local-1"
    file.write_bytes(text)
    full = _read(log, tmp_path)
    assert full.batch_count == 2
    assert len(text) > 2_000
    for length in range(len(text)):
        file.write_bytes(text[:length])
        _judge(_read(log, tmp_path), full)


def test_a_packed_log_that_is_cut_at_and_beside_every_frame(tmp_path: Path) -> None:
    log = recorded("4.2-killed")
    shutil.copytree(log.events, tmp_path / "events")
    full = _read(log, tmp_path / "events")
    inside = log.file.relative_to(log.events)
    data = log.file.read_bytes()
    frames = [at for at in range(len(data)) if data.startswith(MAGIC, at)]
    assert len(frames) > 20
    for at in (place + by for place in [*frames, len(data)] for by in (-1, 0, 1, 7)):
        (tmp_path / "events" / inside).write_bytes(data[: max(at, 0)])
        cut = _read(log, tmp_path / "events")
        _judge(cut, full)
        if 0 < at < len(data) and at not in frames:
            assert cut.unread, at


@pytest.mark.parametrize("name", ["3.5-lz4", "3.5-lzf", "3.5-snappy"])
def test_other_codecs_that_are_cut(name: str, tmp_path: Path) -> None:
    log = recorded(name)
    full, data = _read(log, log.events), log.file.read_bytes()
    assert full.batch_count == 1
    for length in range(1, len(data), 997):
        (tmp_path / log.file.name).write_bytes(data[:length])
        _judge(_read(log, tmp_path), full)


@pytest.mark.parametrize("name", ["3.5-lz4", "3.5-lzf", "3.5-snappy", "4.2-killed", "3.5-killed"])
def test_a_damaged_byte_never_raises(name: str, tmp_path: Path) -> None:
    log = recorded(name)
    data = bytearray(log.file.read_bytes())
    for at in range(0, len(data), 4_001):
        broken = bytearray(data)
        broken[at] ^= 0xFF
        (tmp_path / log.file.name).write_bytes(bytes(broken))
        read_event_log(str(tmp_path), query_id=log.query_id)
