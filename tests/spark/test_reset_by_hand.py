"""The guide to a reset by hand: its statements run, its codes are real, it can be undone."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from holdfast import points
from tests.house.repository import ROOT
from tests.spark.file_stream import Stream
from tests.spark.test_accepting import OLD, accept, refused

PAGE = (ROOT / "docs/guides/reset.md").read_text()
SETTLE, PROVE, UNDO = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
CODES = ("HF606", "HF608")


@pytest.fixture
def kept(stream: Stream, tmp_path: Path) -> Path:
    """Where the checkpoint is when the guide has been followed up to its step 5."""
    stream.run()
    stream.checkpoint.rename(tmp_path / "checkpoint-moved")
    stream.execute(SETTLE)
    stream.add(3)
    return tmp_path / "checkpoint-moved"


def undo(stream: Stream, kept: Path) -> None:
    if stream.checkpoint.exists():
        stream.checkpoint.rename(kept.parent / "checkpoint-abandoned")
    kept.rename(stream.checkpoint)
    stream.execute(UNDO)


def test_a_table_is_filled_again_and_the_old_rows_are_kept(stream: Stream, kept: Path) -> None:
    assert kept.is_dir()
    error = refused(stream)
    assert tuple(finding.code for finding in error.findings) == CODES
    stream.run(accept=accept(error, *CODES))
    stream.run()
    assert stream.rows() == [*OLD, "row 3"]
    lost, added = (statement for statement in PROVE.split(";") if statement.strip())
    with psycopg.connect(stream.dsn) as connection:
        assert connection.execute(lost.encode()).fetchone() == (0,)
        assert connection.execute(added.encode()).fetchone() == (1,)


def test_a_refused_start_can_be_undone(stream: Stream, kept: Path) -> None:
    refused(stream)
    undo(stream, kept)
    stream.run()
    assert stream.rows() == [*OLD, "row 3"]


def test_an_accepted_start_can_be_undone_before_its_first_batch(stream: Stream, kept: Path) -> None:
    def fail(reached: str) -> None:
        if reached == "G5":
            raise RuntimeError(reached)

    said = accept(refused(stream), *CODES)
    points.listen(fail)
    try:
        with pytest.raises(RuntimeError, match="G5"):
            stream.run(accept=said)
    finally:
        points.listen(None)
    undo(stream, kept)
    error = refused(stream)
    assert [finding.code for finding in error.findings] == ["HF603"]
    stream.run(accept=accept(error, "HF603"))
    assert stream.rows() == [*OLD, "row 3"]


def test_a_new_table_needs_no_acceptance(stream: Stream, tmp_path: Path) -> None:
    stream.run()
    stream.checkpoint.rename(tmp_path / "checkpoint-moved")
    stream.execute("CREATE TABLE readings_2 (LIKE readings INCLUDING ALL)")
    another = type(stream.sink())(lambda: stream.dsn, table="readings_2")
    stream.run(into=another)
    with psycopg.connect(stream.dsn) as connection:
        found = connection.execute("SELECT value FROM readings_2 ORDER BY 1").fetchall()
    assert [row[0] for row in found] == stream.rows() == OLD
