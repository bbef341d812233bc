"""Runs every sample, campaign and benchmark whole, one by one, and compares with the last time.

    python -m campaigns.nightly [GROUP|NAME]... [--results DIR] [--seed N]

Each run leaves `DIR/NAME.txt`, all that it printed, and `DIR/NAME.json`, how it ended. One that
fails stops no other. Ends with 1 if one failed or took too long.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click

from campaigns.nightly.results import Result, read_result, write_result
from campaigns.nightly.runs import GROUPS, RUNS, Run
from holdfast.redact import redact

_LAST_LINES = 20
_GRACE_SECONDS = 60


def carry_out(run: Run, *, seed: int, output: Path) -> Result:
    """Carry a run out in a process group of its own; end it when its time is over."""
    environment = {**os.environ, "HOLDFAST_ALL": "1", "HOLDFAST_SEED": str(seed)}
    began = time.monotonic()
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, *run.words],
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        code = _wait(process, run.hours * 3_600)
    lines = redact(output.read_text(errors="replace")).splitlines()
    return Result(
        name=run.name,
        commit=_commit(),
        seed=seed,
        seconds=round(time.monotonic() - began, 1),
        exit_code=code,
        last_lines=tuple(lines[-_LAST_LINES:]),
    )


def _wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Return the exit code; None of a run that was ended."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return None


def _commit() -> str:
    asked = ["git", "rev-parse", "HEAD"]
    said = subprocess.run(asked, check=False, capture_output=True, text=True)
    return said.stdout.strip()


@click.command()
@click.argument("wanted", nargs=-1, metavar="[GROUP|NAME]...")
@click.option("--results", default="nightly", show_default=True, help="Where results are kept.")
@click.option("--seed", type=int, default=1, show_default=True)
def main(*, wanted: tuple[str, ...], results: str, seed: int) -> None:
    """Run what is wanted, everything by default."""
    chosen = [each for each in RUNS if not wanted or {each.group, each.name} & set(wanted)]
    unknown = set(wanted) - {*GROUPS, *(each.name for each in RUNS)}
    if unknown:
        groups = ", ".join(GROUPS)
        raise click.UsageError(f"There is no group or run {', '.join(sorted(unknown))}: {groups}.")
    directory = Path(results)
    directory.mkdir(parents=True, exist_ok=True)
    failed = [each.name for each in chosen if not _tell(each, seed=seed, directory=directory)]
    held = len(chosen) - len(failed)
    click.echo(f"{held} of {len(chosen)} held." + (f" Not: {', '.join(failed)}." * bool(failed)))
    sys.exit(bool(failed))


def _tell(run: Run, *, seed: int, directory: Path) -> bool:
    """Carry a run out and say how it ended, beside the last time; return whether it held."""
    click.echo(f"{run.group} {run.name} …", err=True)
    before = read_result(directory, run.name)
    result = carry_out(run, seed=seed, output=directory / f"{run.name}.txt")
    write_result(directory, result)
    click.echo(f"{run.group} {run.name}: {result.compare(before)}")
    return result.held


if __name__ == "__main__":
    main()
