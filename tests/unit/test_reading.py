from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import LocationError
from tests.unit.checkpoint.archives import DIRECTORY


def test_a_checkpoint_is_read_by_its_location(tmp_path: Path) -> None:
    with tarfile.open(DIRECTORY / "4.2-kafka.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    found = holdfast.read_checkpoint(f"file:{tmp_path}/checkpoint")
    assert list(found.commits) == [0, 1, 2, 3, 4, 5, 6]


def test_a_location_that_is_none_is_refused() -> None:
    with pytest.raises(LocationError):
        holdfast.read_checkpoint("ftp://x/y")


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = holdfast.nothing
