"""Guarded streams on the other supported versions of Spark: killed, restarted, and exact.

The version of the development environment, 4.2, is what every other drill runs on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.spark_versions import SUPPORTED
from lab.matrix import SMOKE
from lab.spark import Installation
from lab.versions import OTHER_VERSIONS, drill_builtin, installation_of
from lab.warm_up import ensure_archive


@pytest.mark.sampled(2)  # `make matrix` runs all of them
@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_a_guarded_stream_that_is_killed_is_exact(
    database: str, version: str, *, tmp_path: Path
) -> None:
    installation = installation_of(version)
    hadoop = installation.package / f"jars/hadoop-client-api-{SUPPORTED[version].hadoop}.jar"
    assert hadoop.exists()
    ensure_archive(installation)
    chains = chains_of(installation)
    found = drill_builtin(installation, chains, directory=tmp_path, dsn=database)
    # A drill passes if every kill fired, and if rows and state are exact as multisets.
    bad = {"FAIL", "UNKNOWN"}
    wrong = [each for drill in found.drills for each in drill.checks if each.verdict in bad]
    assert wrong == []
    assert {drill.drill.partition("/")[0]: tuple(drill.kills) for drill in found.drills} == chains
    rows = [(drill.lost, drill.duplicated, drill.unexpected) for drill in found.drills]
    assert rows == len(chains) * [(0, 0, 0)]
    assert versions_run(tmp_path / "drills", streams=len(chains)) == {version}


def chains_of(installation: Installation) -> dict[str, Sequence[str]]:
    """Return the streams that a version can run: there is no Delta for every one."""
    return {
        name: points
        for name, points in SMOKE.items()
        if installation.has_delta or not name.startswith("delta")
    }


def versions_run(drills: Path, *, streams: int) -> set[str]:
    """Return the versions of Spark in the records of all streams."""
    runs = list(drills.glob("*/streams/**/runs/*.json"))
    assert len({run.relative_to(drills).parts[0] for run in runs}) == streams
    return {json.loads(run.read_text())["spark"] for run in runs}
