from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.drills.scratch import FEWEST_FILES, Scratch, kind_of_sample
from holdfast.errors import ConfigError


def fill(directory: Path, *endings: str, files: int = FEWEST_FILES) -> Path:
    for number in range(files):
        (directory / f"{number}{endings[number % len(endings)]}").touch()
    (directory / "_SUCCESS").touch()
    return directory


def test_a_sample_is_known_by_its_files(tmp_path: Path) -> None:
    assert kind_of_sample(fill(tmp_path, ".parquet")) == "parquet"


def test_samples_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no directory"):
        kind_of_sample(tmp_path / "none")
    with pytest.raises(ConfigError, match="has 2 files"):
        kind_of_sample(fill(tmp_path, ".json", files=2))
    with pytest.raises(ConfigError, match="one kind"):
        kind_of_sample(fill(tmp_path, ".json", ".csv"))


def test_a_stream_without_a_sample_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--source-sample"):
        Scratch(home=tmp_path, sample=None).source(None)
