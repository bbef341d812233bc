"""Kills between every two steps of a guarded stream into Delta, appended, merged and with state.

    python -m benchmarks.delta_kills [CHAIN...]

After every death the table holds exactly the batches that the ledger in its log tells of; at the
end every row exactly once.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import guarded_to_delta
from benchmarks.guard_kills import FORMAT_2, ROCKSDB
from holdfast.ledger.delta import DeltaLedger, app_id
from holdfast.storage import open_reader
from lab.delta import read_delta
from lab.kill import Driver, Link, Named, Point, Rename, cpu_seconds_per_kill
from lab.kill.chain import run_chain
from lab.multiset import Difference, compare
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

FILES = 8
ROWS_PER_FILE = 200
KEYS = 50
FIRST_FILE = 1_700_000_000
"""Their times: files are read in the order of these."""

POINTS: list[Point] = [
    Named("generation-opened"),
    Named("G2"),
    Named("G4"),
    Named("fenced"),  # the fence is in the log, and the row is not
    Named("fenced", nth=2),  # both are
    Named("G5"),
    Rename("before", "offsets/0"),
    Rename("after", "offsets/0"),
    Named("S1"),
    Named("S3"),
    Rename("before", ".json", nth=2),  # of the log: the fence, then the batch
    Rename("after", ".json", nth=2),
    Named("S7"),  # of the replay, which is skipped
    Rename("before", "commits/0"),
    Rename("after", "commits/0"),
    Named("S6", nth=2),
    Rename("before", ".json", nth=1),  # the fence itself
    Rename("after", ".json", nth=1),
    Rename("after", "offsets/3"),
    Named("S6"),
    Named("S7"),
    Rename("after", "commits/4"),
    Named("G6"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A stream, and the settings it runs under."""

    shape: str
    settings: Mapping[str, str] = field(default_factory=dict)
    points: list[Point] = field(default_factory=lambda: list(POINTS))


CHAINS = {
    "appended": Chain(shape="appended"),
    "merged": Chain(shape="merged"),
    "counts-rocksdb": Chain(shape="counts", settings=ROCKSDB),
    "counts-rocksdb-format-2": Chain(shape="counts", settings=FORMAT_2),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Files with known rows, and a table to bring them to."""

    home: Path
    shape: str

    @property
    def table(self) -> Path:
        """The table."""
        return self.home / "table"

    def fill(self) -> None:
        """Write the files."""
        files = self.home / "files"
        files.mkdir(parents=True)
        for number in range(FILES):
            path = files / f"f{number:03}"
            rows = range(number * ROWS_PER_FILE, (number + 1) * ROWS_PER_FILE)
            path.write_text("".join(f"{row}\n" for row in rows))
            os.utime(path, (FIRST_FILE + number, FIRST_FILE + number))

    def program(self) -> list[str]:
        """Return the driver's program and arguments."""
        places = [str(self.home / each) for each in ("files", "table", "streams")]
        return [guarded_to_delta.__file__, *places, self.shape]

    def judge(self, point: Point | None) -> None:
        """Check that the table holds exactly the batches that its ledger says; all at the end."""
        found = self.difference()
        assert found.exact, f"{point}: after {self.files()} files {found}"
        assert point is not None or self.files() == FILES, f"at the end: {self.files()} files"

    def files(self) -> int:
        """Return how many files the ledger tells of: where its last batch ended.

        Not how many batches: one that was killed before its entry is planned again with more.
        """
        standing = DeltaLedger(open_reader(str(self.table)), app_id("readings", "table")).read()
        row = None if standing is None else standing.row
        ended = {} if row is None else json.loads(row.end_offsets)
        return int(ended["0"]["logOffset"]) + 1 if ended else 0

    def difference(self) -> Difference:
        """Compare what the table holds with what it must hold after these files."""
        return compare(_expected(self.shape, self.files()), read_delta(self.table))


def _expected(shape: str, files: int) -> list[tuple[Any, ...]]:
    rows = range(files * ROWS_PER_FILE)
    if shape == "appended":
        return [(row,) for row in rows]
    newest = {row % KEYS: row for row in rows}
    if shape == "merged":
        return list(newest.items())
    return [(key, len(rows) // KEYS) for key in newest]


def run(chain: Chain, directory: Path) -> tuple[Workload, list[Link]]:
    """Run a chain on a stream of its own.

    Raises:
        AssertionError: Something was lost or doubled.
        KillDidNotFireError, DriverFailedError: A run did not end as it should.
    """
    work = Workload(home=directory, shape=chain.shape)
    work.fill()
    driver = Driver(
        work.program(),
        environment=environment(directory / "spark", chain.settings),
        directory=directory / "runs",
    )
    return work, run_chain(driver, chain.points, judge=work.judge)


def main(names: list[str]) -> None:
    """Run the chains, and print of each what was lost and doubled."""
    ensure_archive()
    kills = 0
    for name in names or list(CHAINS):
        with scratch_directory() as scratch:
            work, links = run(CHAINS[name], scratch)
            found = work.difference()
        kills += len(links) - 1
        print(
            f"{name}: {len(links) - 1} kills, {found.missing} lost, "
            f"{found.doubled + found.foreign} doubled, "
            f"{cpu_seconds_per_kill(links):.1f} CPU s per kill",
            flush=True,
        )
    print(f"No failure in {kills} kills: at 95 % fewer than {3 / kills:.1%} of kills fail (3/n).")


if __name__ == "__main__":
    main(sys.argv[1:])
