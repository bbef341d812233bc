"""Guarded streams on every supported version of Spark: killed, restarted, compared row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.cli.table import columns
from holdfast.drills.phases import EVERY
from holdfast.drills.result import DrillJson
from lab.postgres import Postgres
from lab.scratch import scratch_directory
from lab.spark import Installation
from lab.versions import drill_builtin, installation_of
from lab.warm_up import ensure_archive

SMOKE: Mapping[str, Sequence[str]] = {
    # Inside COPY in the first batch; after COMMIT in the second one, before Spark knows of it.
    "postgres-append": ("at:copying:1", "at:S6:2"),
    # After COMMIT: the restart skips the batch in the sink, and must repeat it in the state.
    "postgres-counts-rocksdb": ("at:S6:2",),
    # Inside the commit of the first batch: its data files are there, its entry in the log is not.
    "delta-append": (f"before:{3:020}.json:1",),
}
"""What the gate runs on each version."""
_STREAMS = ("append", "merge", "counts-rocksdb")
COMPLETE: Mapping[str, Sequence[str]] = dict.fromkeys(
    (*(f"{kind}-{stream}" for stream in _STREAMS for kind in ("postgres", "delta")), "both-append"),
    (EVERY,),
)
"""Every phase of each stream, in one chain of kills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One stream on one version of Spark."""

    version: str
    stream: str
    drill: DrillJson | None
    """None if the version cannot run it: `refused` says why."""
    refused: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether every kill struck, and neither rows nor state are lost or duplicated."""
        drill = self.drill
        return drill is None or (
            drill.verdict == "PASS" and not (drill.lost or drill.duplicated or drill.unexpected)
        )


def run_matrix(
    versions: Sequence[str], chains: Mapping[str, Sequence[str]], *, postgres: Postgres
) -> Iterator[Cell]:
    """Yield what each stream showed on each version, one after the other.

    Raises:
        InstallFailedError: The environment of a version could not be made.
        CalledProcessError: The drills could not be run at all.
    """
    for version in versions:
        installation = installation_of(version)
        ensure_archive(installation)
        dsn = postgres.create_database(f"matrix_{version.replace('.', '_')}")
        for stream, points in chains.items():
            with scratch_directory() as directory:
                yield run_one(installation, version, {stream: points}, directory=directory, dsn=dsn)


def run_one(
    installation: Installation,
    version: str,
    chain: Mapping[str, Sequence[str]],
    *,
    directory: Path,
    dsn: str,
) -> Cell:
    """Return what one stream showed on one version."""
    (stream,) = chain
    if not stream.startswith("postgres") and not installation.has_delta:
        return Cell(
            version=version,
            stream=stream,
            drill=None,
            refused=f"there is no Delta for Spark {version}",
        )
    found = drill_builtin(installation, chain, directory=directory, dsn=dsn)
    return Cell(version=version, stream=stream, drill=found.drills[0])


def table(cells: Sequence[Cell]) -> list[str]:
    """Return the lines of a table: kills, rows lost and duplicated, or why it was refused."""
    rows = [("Spark", "stream", "kills", "lost", "duplicated", "verdict")]
    for cell in cells:
        drill = cell.drill
        if drill is None:
            rows.append((cell.version, cell.stream, "-", "-", "-", f"refused: {cell.refused}"))
            continue
        duplicated = drill.duplicated + drill.unexpected
        counts = (str(len(drill.kills)), str(drill.lost), str(duplicated))
        rows.append((cell.version, cell.stream, *counts, drill.verdict))
    return columns(rows)
