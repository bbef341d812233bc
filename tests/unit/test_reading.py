from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import ConfigError, LocationError
from holdfast.evidence import Refuses, Resumes
from tests.unit.checkpoint.archives import DIRECTORY


def test_a_checkpoint_is_read_by_its_location(tmp_path: Path) -> None:
    with tarfile.open(DIRECTORY / "4.2-kafka.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    found = holdfast.read_checkpoint(f"file:{tmp_path}/checkpoint")
    assert list(found.commits) == [0, 1, 2, 3, 4, 5, 6]


def test_inspect_looks_into_state_as_the_command_does(tmp_path: Path) -> None:
    with tarfile.open(DIRECTORY / "4.2-aggregation-rocksdb.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    place = tmp_path / "checkpoint"
    assert isinstance(holdfast.inspect(str(place)).next_start, Resumes)
    for table in place.glob("state/0/*/SSTs/*.sst"):
        table.unlink()
    assert isinstance(holdfast.inspect(str(place)).next_start, Refuses)


def test_inspect_predicts_for_a_version_and_counts_rows_when_asked(tmp_path: Path) -> None:
    with tarfile.open(DIRECTORY / "4.2-aggregation.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    found = holdfast.inspect(str(tmp_path / "checkpoint"), spark=(4, 1), rows=True)
    assert found.overview.spark == (4, 1)
    assert all(isinstance(store.rows, int) for store in found.overview.stores)


def test_a_version_that_is_not_known_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"spark=\(2, 4\) is not a version of Spark"):
        holdfast.inspect("/nowhere", spark=(2, 4))


def test_a_location_that_is_none_is_refused() -> None:
    with pytest.raises(LocationError):
        holdfast.read_checkpoint("ftp://x/y")


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = holdfast.nothing
