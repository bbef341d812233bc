"""Guarded streams on the other supported versions of Spark: killed, restarted, and exact.

The version of the development environment, 4.2, is what every other drill runs on.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.versions import OTHER_VERSIONS, drill_builtin, installation_of
from lab.warm_up import ensure_archive

CHAINS = {
    # Inside COPY in the first batch; after COMMIT in the second one, before Spark knows of it.
    "postgres-append": ["at:copying:1", "at:S6:2"],
    # After COMMIT: the restart skips the batch in the sink, and must repeat it in the state.
    "postgres-counts-rocksdb": ["at:S6:2"],
    # Inside the commit of the first batch: its data files are there, its entry in the log is not.
    "delta-append": [f"before:{3:020}.json:1"],
}


@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_a_guarded_stream_that_is_killed_is_exact(
    database: str, version: str, *, tmp_path: Path
) -> None:
    installation = installation_of(version)
    ensure_archive(installation)
    found = drill_builtin(installation, CHAINS, directory=tmp_path, dsn=database)
    # A drill passes if every kill fired, and if rows and state are exact as multisets.
    bad = {"FAIL", "UNKNOWN"}
    wrong = [each for drill in found.drills for each in drill.checks if each.verdict in bad]
    assert wrong == []
    assert {drill.drill.partition("/")[0]: drill.kills for drill in found.drills} == CHAINS
    rows = [(drill.lost, drill.duplicated, drill.unexpected) for drill in found.drills]
    assert rows == 3 * [(0, 0, 0)]
    assert versions_run(tmp_path / "drills") == {version}


def versions_run(drills: Path) -> set[str]:
    """Return the versions of Spark in the records of all streams."""
    runs = list(drills.glob("*/streams/**/runs/*.json"))
    assert len({run.relative_to(drills).parts[0] for run in runs}) == len(CHAINS)
    return {json.loads(run.read_text())["spark"] for run in runs}
