"""Damages checkpoints, and compares what `diagnose` says with what Spark then does.

    python -m campaigns.damages [--place DIR] [--count N] [--stream NAME …] [--again]

DIR keeps the undamaged checkpoints, a line per trial (`trials.jsonl`) and the table (`table.md`):
a run that was stopped goes on where it was. `--again` diagnoses every damage of an earlier run
again and starts no Spark. Ends with 1 if a damage was called safe and was not.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from campaigns.damages.report import is_wrong, report
from campaigns.damages.streams import SHAPES
from campaigns.damages.sweep import Sweep, judge_again, run
from campaigns.damages.trial import Trial
from lab.warm_up import ensure_archive


def show(trials: Iterable[Trial]) -> list[Trial]:
    """Print every trial that went wrong, and now and then how far it is."""
    found = []
    for trial in trials:
        found.append(trial)
        if is_wrong(trial):
            said = f"{trial.plain.verdict}, deep {trial.deep.verdict}"
            print(f"WRONG {trial.name}: {said}; {trial.did} {trial.seen[:160]}", flush=True)
        if len(found) % 50 == 0:
            print(f"{time.strftime('%H:%M:%S')} {len(found)} trials", flush=True)
    return found


@click.command(help=__doc__)
@click.option("--place", type=click.Path(path_type=Path), help="By default a new directory.")
@click.option("--count", default=560, show_default=True, help="Damages of each stream; 0 is all.")
@click.option("--seed", default=1, show_default=True)
@click.option("--stream", "streams", type=click.Choice([*SHAPES]), multiple=True)
@click.option("--how", "hows", multiple=True, help="Only this kind of damage.")
@click.option("--only", default="", help="Only files whose path has this text in it.")
@click.option("--again", is_flag=True, help="Diagnose again, and start no Spark.")
def main(*, place: Path | None, again: bool, streams: tuple[str, ...], **given: Any) -> None:
    """Run the sweep; end with 1 if *safe* was wrong."""
    place = place or Path(tempfile.mkdtemp(prefix="holdfast-damages-"))
    place.mkdir(parents=True, exist_ok=True)
    sweep = Sweep(place=place.resolve(), streams=streams or (*SHAPES,), **given)
    if not again:
        ensure_archive()
    trials = show(judge_again(sweep) if again else run(sweep))
    lines = report(trials)
    (place / "table.md").write_text("\n".join(lines) + "\n")
    print(*lines, f"Kept in {place}.", sep="\n")
    sys.exit(1 if not trials or any(map(is_wrong, trials)) else 0)


if __name__ == "__main__":
    main()
