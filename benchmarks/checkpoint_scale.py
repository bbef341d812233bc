"""How reading a checkpoint grows: with Kafka's partitions, a file source's log, objects on S3.

    python -m benchmarks.checkpoint_scale [--quick] [--huge] [--only PART] [--seed N]

Every part is measured at three sizes, beside a baseline that takes turns with it; figures are
medians, with the lowest and the highest. Ends with 1 when a target is missed.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import click

from benchmarks import scale_file_log, scale_objects, scale_offsets
from benchmarks.large_checkpoint import unpack
from benchmarks.measuring import exit_when_missed, in_turns, ratios, spread
from lab.scratch import scratch_directory

PARTS = ("offsets", "file-log", "objects", "inspect")
TURNS = 15
MOST_SECONDS = 0.5
INSPECTED = "4.2-kafka"
DONE_OR_FOUND = (0, 1)


def report_inspect(directory: Path) -> list[str]:
    """Time `holdfast inspect` from start to exit and return the target if it was missed."""
    place = unpack(INSPECTED, directory / "inspected")
    inspect = [sys.executable, "-m", "holdfast", "inspect", str(place)]
    code = subprocess.run(inspect, check=False, capture_output=True).returncode
    print(f"holdfast inspect of {INSPECTED}, a process from start to exit; {TURNS} turns each")
    if code not in DONE_OR_FOUND:
        print(f"  Not measured: it ended with {code}.")
        return [f"holdfast inspect ended with {code}"]
    commands = {"python -c pass": [sys.executable, "-c", "pass"], "holdfast inspect": inspect}
    times = in_turns({name: partial(run, command) for name, command in commands.items()}, TURNS)
    for name, seconds in times.items():
        print(f"  {name:<18}{spread(seconds).show(0, times=1e3)} ms")
    bare, ours = times.values()
    print(f"  over python -c pass {ratios(ours, bare).show(1)}")
    if spread(ours).median > MOST_SECONDS:
        return [f"holdfast inspect takes {spread(ours).median:.2f} s"]
    return []


def run(command: list[str]) -> None:
    """Run a command to its end, whatever it says."""
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@click.command(help=__doc__)
@click.option("--quick", is_flag=True, help="Small sizes: shows that it runs, not how it scales.")
@click.option("--huge", is_flag=True, help="Also a checkpoint of four million objects.")
@click.option("--only", type=click.Choice(PARTS))
@click.option("--seed", default=1, show_default=True, help="Of offsets and file names.")
def main(*, quick: bool, huge: bool, only: str | None, seed: int) -> None:
    """Measure the parts one after the other and fail when a target is missed."""
    chosen = [only] if only else PARTS
    missed = []
    with scratch_directory() as directory:
        if "offsets" in chosen:
            missed += scale_offsets.report(directory, seed=seed, quick=quick)
        if "file-log" in chosen:
            missed += scale_file_log.report(directory, seed=seed, quick=quick)
        if "objects" in chosen:
            missed += scale_objects.report(quick=quick)
        if huge:
            scale_objects.report_huge()
        if "inspect" in chosen:
            missed += report_inspect(directory)
    print(f"Seed {seed}.")
    exit_when_missed(missed)


if __name__ == "__main__":
    main()
