"""The record of a backfill: its name, its file, and how a stream's backfills are found."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.record.backfills import Backfill, backfill_name, read_backfill, read_backfills
from holdfast.record.documents import RecordError, create
from holdfast.record.layout import backfill_location, is_stream_name
from holdfast.storage.location import parse_location
from holdfast.storage.write import open_writer

KEPT = Backfill(
    stream="readings",
    generation=1,
    start='{"0":{"t":{"0":0}}}',
    end='{"0":{"t":{"0":9}}}',
    chunks=3,
    sinks=("readings",),
    began_at="2026-11-17T03:00:00+00:00",
)


@given(
    stream=st.from_regex(r"[a-z][a-z-]{0,62}", fullmatch=True),
    digest=st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
)
def test_every_name_is_the_name_of_a_stream(stream: str, digest: str) -> None:
    name = backfill_name(stream, digest)
    assert is_stream_name(name)
    assert "-backfill-" in name


def test_a_digest_that_reads_as_a_date_gives_another_name() -> None:
    assert backfill_name("a", "7c1f04ab" + "0" * 56) == "a-backfill-7c1f04ab"
    assert backfill_name("a", "20261117" + "c" * 56) == "a-backfill-0261117c"
    assert backfill_name("b" * 63, "7c1f04ab" + "0" * 56) == f"{'b' * 45}-backfill-7c1f04ab"


def test_backfills_are_found_below_the_record_of_their_stream(tmp_path: Path) -> None:
    record = parse_location(str(tmp_path))
    assert read_backfills(open_writer(record, {})) == {}
    own = open_writer(backfill_location(record, "readings-backfill-7c1f04ab"), {})
    assert read_backfill(own) is None
    assert create(own, KEPT)
    assert read_backfill(own) == KEPT
    (tmp_path / "backfills" / "Not-Ours").mkdir()
    (tmp_path / "backfills" / "readings-backfill-00000000").mkdir()
    assert read_backfills(open_writer(record, {})) == {"readings-backfill-7c1f04ab": KEPT}


def test_a_file_that_is_not_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "backfill.json").write_text('{"format": "holdfast.backfill", "chunks": 0}')
    with pytest.raises(RecordError):
        read_backfill(open_writer(parse_location(str(tmp_path)), {}))
