"""Directories and strange names in the place of what Spark reads or writes next."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.evidence import Refuses, Resumes
from holdfast.evidence.collect import collect
from holdfast.evidence.next_start import predict_next_start
from holdfast.storage.open import open_reader
from tests.unit.cli.inspecting import unpack


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Batch 5 is committed: batch 6 loads version 6 of the state and writes version 7."""
    return unpack("4.2-aggregation", tmp_path)


def predicted(checkpoint: Path) -> Resumes | Refuses:
    found = predict_next_start(collect(open_reader(str(checkpoint))).checkpoint)
    assert isinstance(found, Resumes | Refuses)
    return found


def test_nothing_is_in_the_way(checkpoint: Path) -> None:
    found = predicted(checkpoint)
    assert isinstance(found, Resumes)
    assert found.then is None


@pytest.mark.parametrize(
    ("path", "in_batch"),
    [
        ("offsets/6", None),
        ("offsets/.6.crc", None),
        ("sources/0/5", None),
        ("sources/0/4.compact", None),
        ("state/0/0/7.delta", 6),
        ("state/0/1/.7.delta.crc", 6),
    ],
)
def test_an_empty_directory_in_the_place_of_what_is_written_next_stops_the_start(
    checkpoint: Path, path: str, in_batch: int | None
) -> None:
    (checkpoint / path).mkdir()
    found = predicted(checkpoint)
    assert isinstance(found, Refuses)
    assert (found.code, found.follows_from, found.in_batch) == ("HF228", (path,), in_batch)


@pytest.mark.parametrize("path", ["commits/6", "commits/.6.crc"])
def test_a_directory_in_the_place_of_the_commit_fails_after_the_sink(
    checkpoint: Path, path: str
) -> None:
    (checkpoint / path).mkdir()
    found = predicted(checkpoint)
    assert isinstance(found, Resumes)
    assert found.then is not None


@pytest.mark.parametrize(
    "path", ["offsets/0005", "commits/-1", "sources/0/0004", "state/0/0/0007.delta"]
)
def test_a_name_that_is_not_newer_than_all_entries_is_harmless(checkpoint: Path, path: str) -> None:
    (checkpoint / path).write_bytes(b"")
    found = predicted(checkpoint)
    assert isinstance(found, Resumes)
    assert found.then is None


def test_a_directory_in_the_place_of_a_schema_is_an_unreadable_schema(checkpoint: Path) -> None:
    schema = checkpoint / "state/0/0/_metadata/schema"
    schema.unlink()
    schema.with_name(".schema.crc").unlink()
    schema.mkdir()
    found = predicted(checkpoint)
    assert isinstance(found, Refuses)
    assert found.code == "HF411"
