"""The Maven repository has Delta under the coordinates that pages print."""

from __future__ import annotations

from pathlib import Path

from holdfast.spark_versions import DELTA_PACKAGES
from lab.jars import run_maven


def test_every_row_of_the_table_can_be_resolved(tmp_path: Path) -> None:
    run_maven("delta", list(DELTA_PACKAGES.values()), tmp_path)
    jars = {path.name for path in tmp_path.glob("*.jar")}
    assert jars == {
        f"{artifact}-{version}.jar"
        for _, artifact, version in (each.split(":") for each in DELTA_PACKAGES.values())
    }
