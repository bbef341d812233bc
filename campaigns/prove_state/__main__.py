"""Plants faults into the tables of streams with state, and counts what `prove` says of them.

    python -m campaigns.prove_state faults            every fault of every operator
    python -m campaigns.prove_state random --runs 100 untouched tables, with late rows
    python -m campaigns.prove_state kills --kills 10  untouched tables after kills of the driver

Every stream is guarded and runs on real Spark, from files into Delta tables. Ends with 1 when a
fault was missed, or an untouched table was called wrong. Of a table that is not compared, the
answer says so: that is counted, and is no alarm.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import click

from campaigns.prove_state.kills import Kills, play_kills
from campaigns.prove_state.operators import OPERATORS
from campaigns.prove_state.play import Played, Stage, play_faults, play_random, shown
from holdfast.proof.values import ProofVerdict
from lab.scratch import scratch_directory
from lab.spark import start_session
from lab.warm_up import ensure_archive

SETTINGS = {"spark.sql.shuffle.partitions": "1"}
KILLED = tuple(name for name in OPERATORS if name not in ("totals", "sliding-windows"))


def report(found: list[Played]) -> int:
    """Print a line per operator; return how many answers were wrong."""
    heads = ("operator", "faults", "missed", "untouched", "exact", "not compared", "false alarms")
    print("\n" + " ".join(f"{head:>13}" for head in heads))
    for name in dict.fromkeys(each.operator for each in found):
        faults = [each for each in found if each.operator == name and each.what != "untouched"]
        clean = [each for each in found if each.operator == name and each.what == "untouched"]
        verdicts = [each.proof.verdict for each in clean]
        figures = (
            len(faults),
            sum(bool(each.wrong) for each in faults),
            len(clean),
            verdicts.count(ProofVerdict.EXACT),
            verdicts.count(ProofVerdict.NOT_COMPARED),
            verdicts.count(ProofVerdict.NOT_EXACT),
        )
        print(f"{name:>18} " + " ".join(f"{figure:>12}" for figure in figures))
    return sum(bool(each.wrong) for each in found)


def _told(plays: Iterator[Played]) -> list[Played]:
    found = []
    began = time.monotonic()
    for each in plays:
        found.append(each)
        told = each.wrong or shown(each.proof)
        seconds = time.monotonic() - began
        print(f"{each.operator}: {each.what}: {told[:400]} ({seconds:.0f} s)", flush=True)
    return found


@click.command()
@click.argument("what", type=click.Choice(("faults", "random", "kills")))
@click.option("--operator", "operators", type=click.Choice(list(OPERATORS)), multiple=True)
@click.option("--runs", default=100, show_default=True, help="Random runs.")
@click.option("--kills", default=10, show_default=True, help="Of the driver of all operators.")
@click.option("--seed", default=1, show_default=True, help="The first one of random runs.")
def main(*, what: str, operators: tuple[str, ...], runs: int, kills: int, seed: int) -> None:
    """Run one of the campaigns."""
    ensure_archive()
    with scratch_directory() as home:
        spark = start_session(home / "spark", SETTINGS)
        stage = Stage(spark=spark, home=home)
        stage.prepare()
        names = operators or tuple(OPERATORS)
        if what == "faults":
            plays = play_faults(stage, names, seed=seed)
        elif what == "random":
            plays = play_random(stage, names, seeds=range(seed, seed + runs))
        else:
            plays = play_kills(stage, operators or KILLED, Kills(count=kills, seed=seed))
        found = _told(plays)
        spark.stop()
    sys.exit(1 if report(found) else 0)


if __name__ == "__main__":
    main()
