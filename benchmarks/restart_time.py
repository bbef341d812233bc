"""How long a killed stream into Delta takes to commit its next batch, guarded and bare.

    python -m benchmarks.restart_time [--only disk|S3] [--restarts N]

A driver is killed (SIGKILL) in the middle of a batch and started again at once, the guarded one and
Delta's own sink in turns, with table and checkpoint on disk and on S3. The time runs from the kill
until `commits/N` of the killed batch is there. At the end both tables hold every row exactly once.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click

from benchmarks import native_to_delta
from benchmarks.measuring import exit_when_missed, spread
from benchmarks.pairs import compare_medians
from campaigns.streams import guarded_to_delta
from holdfast.drills.builtin.delta_table import DeltaTable
from holdfast.drills.builtin.workload import write_files
from holdfast.drills.kill import Driver
from holdfast.drills.kill.waiting import wait_until
from holdfast.proof.multiset import compare
from holdfast.storage import open_reader
from holdfast.storage.options import from_hadoop
from lab import S3
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

ROWS_PER_FILE = 100
FILES_PER_RESTART = 2
"""Enough that a driver always has a batch to be killed in."""
AIM = 1.15
SECONDS = 240.0
GUARDED, BARE = "Holdfast", "Delta's own sink"
KILLED, COMMITTED = "killed", "committed"
STEPS = (KILLED, "session", "started", COMMITTED)
GUARDED_STEPS = ("session", "G1", "G2", "G4", "fenced", "G5", "G6", "S1", "S3", "S6", "S7")


@dataclass(slots=True, kw_only=True)
class Stream:
    """A driver that is killed and started again, and what each of its starts took."""

    name: str
    driver: Driver
    place: str
    """Below it are `table` and `streams/readings`, the checkpoint."""
    options: Mapping[str, str]
    starts: list[dict[str, float]] = field(default_factory=list)
    _dying: float = 0.0
    """How long the last kill took until all was gone."""

    def run_and_kill(self) -> None:
        """Start it, wait until its next batch is committed, and kill it in the one after that."""
        due = self.committed()
        began = time.monotonic()
        with self.driver.start() as running:
            self._await(f"commits/{due}")
            committed = time.monotonic()
            self._await(f"offsets/{due + 1}")
            killed = time.monotonic()
            running.kill()
            running.wait()
            gone = time.monotonic()
            reached: dict[str, float] = {}
            for at, point in running.reached:
                reached.setdefault(point, at)
        if self._dying:
            # As if it had been started the moment it was gone: the other one ran meanwhile.
            self.starts.append({**reached, KILLED: began - self._dying, COMMITTED: committed})
        self._dying = gone - killed

    def committed(self) -> int:
        """Return how many batches have a commit entry."""
        reader = open_reader(f"{self.place}/streams/readings", self.options)
        present = {info.path.rpartition("/")[2] for info in reader.list("commits").files}
        return next(number for number in itertools.count() if str(number) not in present)

    def _await(self, entry: str) -> None:
        reader = open_reader(f"{self.place}/streams/readings", self.options)
        there = wait_until(lambda: reader.stat(entry) is not None, seconds=SECONDS)
        assert there, f"{self.name}: no {entry}"

    def check(self, *, rows: int) -> None:
        """Run it to its end and hold its table against the rows that were given."""
        self.driver.run_to_end()
        there = DeltaTable(open_reader(f"{self.place}/table", self.options)).read()
        found = compare([(row,) for row in range(rows)], there.rows)
        assert found.exact, f"{self.name}: {found}"

    def between(self, first: str, last: str) -> list[float]:
        """Return how long every start took from one point to another."""
        return [start[last] - start[first] for start in self.starts]


def open_streams(
    home: Path, root: str, settings: Mapping[str, str], *, files: Path
) -> list[Stream]:
    """Describe both streams; nothing is started."""
    programs = {
        BARE: (native_to_delta, ["{0}/table", "{0}/streams/readings"]),
        GUARDED: (guarded_to_delta, ["{0}", "{0}/streams", "appended"]),
    }
    streams = []
    for number, (name, (program, given)) in enumerate(programs.items()):
        place, own = f"{root}/{number}", home / str(number)
        arguments = [str(files), *(each.format(place) for each in given)]
        driver = Driver(
            [str(program.__file__), *arguments],
            environment=environment(own, settings, jvm=()),
            directory=own / "runs",
        )
        options = from_hadoop(settings, bucket="lake")
        streams.append(Stream(name=name, driver=driver, place=place, options=options))
    return streams


def report(shown: str, streams: list[Stream], *, restarts: int) -> list[str]:
    """Kill and start both in turns, and return the aim if it was missed."""
    for number in range(restarts + 1):
        for stream in streams if number % 2 == 0 else reversed(streams):
            stream.run_and_kill()
    for stream in streams:
        rows = (restarts + 1) * FILES_PER_RESTART * ROWS_PER_FILE
        stream.check(rows=rows)
    bare, guarded = streams
    print(f"{shown}: from SIGKILL to the next committed batch, {restarts} restarts each; s")
    for stream in streams:
        print(f"  {stream.name:<20}{spread(stream.between(KILLED, COMMITTED)).show(2)}")
        show_steps(stream, STEPS)
    print("  inside the guarded start and its first batch:")
    show_steps(guarded, GUARDED_STEPS)
    ratio = compare_medians(guarded.between(KILLED, COMMITTED), bare.between(KILLED, COMMITTED))
    print(f"  Holdfast over {BARE} {ratio}", flush=True)
    is_missed = shown == "disk" and ratio.value > AIM
    return [f"a restart on {shown} takes {ratio}"] if is_missed else []


def show_steps(stream: Stream, steps: tuple[str, ...]) -> None:
    """Print the medians between points that every start came by, in one line."""
    known = [step for step in steps if all(step in start for start in stream.starts)]
    each = (
        f"{statistics.median(stream.between(first, last)):.2f} to {last}"
        for first, last in itertools.pairwise(known)
    )
    print(f"    {', '.join(each)}")


@click.command(help=__doc__)
@click.option("--only", type=click.Choice(["disk", "S3"]))
@click.option("--restarts", default=10, show_default=True)
def main(*, only: str | None, restarts: int) -> None:
    """Measure on disk, then on S3, and fail when the aim is missed."""
    ensure_archive()
    missed: list[str] = []
    with S3() as s3, scratch_directory() as scratch:
        files, number = scratch / "files", (restarts + 1) * FILES_PER_RESTART
        write_files(files, files=number, rows_per_file=ROWS_PER_FILE)
        places: dict[str, tuple[str, dict[str, str]]] = {
            "disk": (str(scratch / "lake"), {}),
            "S3": ("s3a://lake/restarts", s3.spark_settings()),
        }
        for shown in [only] if only else places:
            root, settings = places[shown]
            streams = open_streams(scratch / shown, root, settings, files=files)
            missed += report(shown, streams, restarts=restarts)
    exit_when_missed(missed)


if __name__ == "__main__":
    main()
