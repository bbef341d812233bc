from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from lab import jars
from lab.errors import DownloadMismatchError

WITHOUT_JARS = "spark-4.3"
GROUPS = [each for each in tomllib.loads(jars.LOCK.read_text()) if each != WITHOUT_JARS]


@pytest.mark.parametrize("group", GROUPS)
def test_every_locked_jar_has_coordinates_and_a_hash(group: str) -> None:
    locked = jars.locked(group)
    assert locked
    for coordinates, sha256 in locked.items():
        assert len(coordinates.split(":")) in (3, 4), coordinates
        assert re.fullmatch(r"[0-9a-f]{64}", sha256), coordinates


def test_a_jar_that_is_not_the_locked_one_is_refused_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download_something_else(_: str, coordinates: list[str], target: Path) -> None:
        for each in coordinates:
            _, artifact, version = each.split(":")
            (target / f"{artifact}-{version}.jar").write_text("not what was asked for")

    monkeypatch.setenv("HOLDFAST_LAB_CACHE", str(tmp_path))
    monkeypatch.setattr(jars, "run_maven", download_something_else)
    with pytest.raises(DownloadMismatchError):
        jars.fetch_jars("kafka")
    assert list(tmp_path.iterdir()) == []
