"""What `hf.scan_fleet` costs beside the scan without Spark, and whether its rows are the same.

    python -m benchmarks.fleet_on_spark [--checkpoints 10000] [--no-cluster] [--no-3.5]

One lake on disk, every tenth checkpoint broken in one of 8 ways, is scanned without Spark; with
Spark in one process, several times; on a standalone cluster of two workers, one of whose executors
is killed in the middle; and with Spark 3.5. Every way must give the same rows, exactly. The start
of a session and its first Python task are stated apart. CPU is that of all processes together.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import click
import msgspec

from benchmarks.fleet_lake import plant
from benchmarks.fleet_speed import Scanned
from benchmarks.measuring import exit_when_missed, run_child
from holdfast.fleet.arrow import read_parquet
from holdfast.fleet.rows import FleetRow
from lab.cluster import Cluster
from lab.scratch import scratch_directory
from lab.spark import OWN, Installation, environment
from lab.versions import REPOSITORY, installation_of

CHECKPOINTS, SLICES, SCANS = 10_000, 32, 4
MOST_TIMES = 1.3
_PROGRAM = REPOSITORY / "lab/programs/fleet_scan.py"
_PATHS = os.pathsep.join(map(str, (REPOSITORY / "src", REPOSITORY)))


class Cost(msgspec.Struct, frozen=True):
    """What a start or a scan took."""

    seconds: float
    cpu_s: float

    def show(self, name: str) -> str:
        """Return it as a line."""
        return f"{name:<44}{self.seconds:>8.1f}{self.cpu_s:>8.1f}"


class Ran(msgspec.Struct, frozen=True):
    """What the program says of its scans."""

    spark: str
    start: Cost
    scans: list[Cost]
    killed: dict[str, int]


@click.command()
@click.option("--checkpoints", default=CHECKPOINTS, show_default=True)
@click.option("--no-cluster", is_flag=True, help="Without a cluster and its kill.")
@click.option("--no-3.5", "no_old", is_flag=True, help="Without Spark 3.5.")
def main(*, checkpoints: int, no_cluster: bool, no_old: bool) -> None:
    """Scan one lake in every way, and fail if rows differ or Spark costs too much."""
    with scratch_directory() as directory:
        lake = directory / "lake"
        for planted in plant(checkpoints):
            for path, raw in planted.files:
                (lake / path).parent.mkdir(parents=True, exist_ok=True)
                (lake / path).write_bytes(raw)
        print(f"{'what':<44} seconds   CPU s")
        missed = _compare(directory, lake, checkpoints)
        expected = read_scan(directory / "bare.parquet")
        if not no_cluster:
            missed += _on_cluster(directory, lake, expected)
        if not no_old:
            missed += _on_version("3.5", directory, lake, expected=expected)
    exit_when_missed(missed)


def _compare(directory: Path, lake: Path, checkpoints: int) -> list[str]:
    bare = scan_bare(lake, directory / "bare.parquet", checkpoints)
    print(Cost(bare.seconds, bare.cpu_s).show(f"{checkpoints:,} without Spark"))
    ran = scan_by(OWN, directory / "local", lake, scans=SCANS)
    again = scan_bare(lake, directory / "again.parquet", checkpoints)
    print(Cost(again.seconds, again.cpu_s).show("the same, again after the scans with Spark"))
    print(ran.start.show(f"start of Spark {ran.spark} and a Python task"))
    for number, each in enumerate(ran.scans, start=1):
        print(each.show(f"scan {number} with Spark"))
    times = min(each.cpu_s for each in ran.scans[1:]) / min(bare.cpu_s, again.cpu_s)
    print(f"warm, Spark takes {times:.2f} times the CPU")
    missed = [] if times <= MOST_TIMES else [f"Spark takes {times:.2f} times the CPU"]
    expected = read_scan(directory / "bare.parquet")
    return [*missed, *_differs("Spark", directory / "local/0", expected), *bare.wrong]


def _on_cluster(directory: Path, lake: Path, expected: Counter[str]) -> list[str]:
    with Cluster() as cluster:
        settings = cluster.settings(executors={"PYTHONPATH": _PATHS})
        ran = scan_by(OWN, directory / "cluster", lake, settings=settings, scans=2, kills=True)
    print(ran.scans[0].show("on a cluster, CPU of the driver only"))
    print(ran.scans[1].show("with one of two executors killed"))
    print(f"killed when {ran.killed.get('completed')} of {ran.killed.get('tasks')} tasks had ended")
    missed = [] if ran.killed else ["no executor was killed"]
    for number in (0, 1):
        missed += _differs("a cluster", directory / f"cluster/{number}", expected)
    return missed


def _on_version(version: str, directory: Path, lake: Path, *, expected: Counter[str]) -> list[str]:
    ran = scan_by(installation_of(version), directory / version, lake, scans=2)
    print(ran.scans[-1].show(f"scan 2 with Spark {ran.spark}"))
    return _differs(f"Spark {version}", directory / version / "1", expected)


def _differs(name: str, parts: Path, expected: Counter[str]) -> list[str]:
    found = read_scan(parts)
    print(f"  {name}: {found.total():,} rows, {'the same' if found == expected else 'DIFFERENT'}")
    return [] if found == expected else [f"the rows of {name} differ"]


def scan_bare(lake: Path, to: Path, checkpoints: int) -> Scanned:
    """Scan without Spark in a process of its own."""
    return Scanned(**run_child("benchmarks.fleet_speed", "scan", lake, to, "", checkpoints))


def scan_by(  # noqa: PLR0913 - one argument per thing that can differ
    installation: Installation,
    directory: Path,
    lake: Path,
    *,
    settings: dict[str, str] | None = None,
    scans: int = 1,
    kills: bool = False,
) -> Ran:
    """Scan with a Spark, in a process of its own."""
    directory.mkdir()
    asked = json.dumps({"slices": SLICES, "scans": scans, "kills": kills})
    variables = environment(directory, settings or {}, log_level="off", installation=installation)
    done = subprocess.run(
        [installation.python, _PROGRAM, lake, directory, asked],
        env={**os.environ, **variables, "PYTHONPATH": _PATHS},
        check=True,
        stdout=subprocess.PIPE,
    )
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Ran)


def read_scan(place: Path) -> Counter[str]:
    """Return the rows of a Parquet file, or of a directory of them, without their times."""
    files = sorted(place.glob("*.parquet")) if place.is_dir() else [place]
    return Counter(_plain(row) for each in files for row in read_parquet(str(each)))


def _plain(row: FleetRow | None) -> str:
    assert row is not None
    return repr(msgspec.structs.replace(row, judged_ms=0, seen_ms=0))


if __name__ == "__main__":
    main()
