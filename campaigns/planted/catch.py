"""Twenty bugs, planted one by one into a copy of the code: each must be found, by a named check.

    python -m campaigns.planted [BUG...] [--seed N] [--list]

Every check is run on an unchanged copy first, where it must pass: else what it finds means nothing.
A bug counts as caught when each of its checks looked and said that what it saw is wrong: one that
only ends in an error is not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import click

from campaigns.planted.bug import Bug, Check, plant, read_bugs, rows_of
from campaigns.planted.run import Bench, Outcome, Said
from lab import Postgres
from lab.scratch import scratch_directory
from lab.warm_up import ensure_archive

DATABASE = "planted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """What became of a planted bug."""

    bug: Bug
    outcomes: dict[Check, Outcome]
    seconds: float

    @property
    def is_caught(self) -> bool:
        """Whether each of its checks has found it."""
        return all(each.said is Said.FAILED for each in self.outcomes.values())


def run_unchanged(bench: Bench, bugs: Sequence[Bug]) -> dict[Check, Outcome]:
    """Run all that must find bugs on a copy without any; return what does not pass."""
    checks = list(dict.fromkeys(check for bug in bugs for check in bug.checks))
    found = bench.run(plant(None, bench.home / "unchanged"), checks)
    return {check: each for check, each in found.items() if each.said is not Said.PASSED}


def catch(bench: Bench, bug: Bug) -> Caught:
    """Plant a bug, and run what must find it."""
    began = time.monotonic()
    outcomes = bench.run(plant(bug, bench.home / bug.name), bug.checks)
    return Caught(bug=bug, outcomes=outcomes, seconds=time.monotonic() - began)


def tell(caught: Caught) -> None:
    """Print what became of a bug."""
    verdict = "caught" if caught.is_caught else "NOT CAUGHT"
    click.echo(f"{caught.bug.name}: {caught.bug.shown}: {verdict}, {caught.seconds:.0f} s")
    for check, outcome in caught.outcomes.items():
        click.echo(f"    {check.shown}: {outcome.said.value}: {outcome.told[:150]}")


def run(bench: Bench, bugs: Sequence[Bug]) -> int:
    """Run it all and print it; return how many bugs were not caught, or checks meant nothing."""
    began = time.monotonic()
    wrong = run_unchanged(bench, bugs)
    for check, outcome in wrong.items():
        click.echo(f"WITHOUT A BUG {check.shown}: {outcome.said.value}: {outcome.told}")
    click.echo(f"without a bug: {len(wrong)} checks do not pass, {time.monotonic() - began:.0f} s")
    missed = 0
    for bug in bugs:
        caught = catch(bench, bug)
        tell(caught)
        missed += not caught.is_caught
    seconds = time.monotonic() - began
    click.echo(f"seed {bench.seed}: {len(bugs) - missed} of {len(bugs)} caught, {seconds:.0f} s")
    return missed + len(wrong)


def _choose(names: Sequence[str]) -> list[Bug]:
    bugs = read_bugs()
    for name in names:
        if name not in bugs:
            raise click.BadParameter(f"{name} is none of {', '.join(bugs)}")
    return [bugs[name] for name in names or bugs]


@click.command(help=__doc__)
@click.argument("names", metavar="[BUG]...", nargs=-1)
@click.option("--seed", default=1, show_default=True, help="Of the tests that draw something.")
@click.option("--list", "is_list", is_flag=True, help="Print the table of bugs, and plant none.")
def main(names: tuple[str, ...], seed: int, *, is_list: bool) -> None:
    """Plant bugs, and end with 1 when one is not caught."""
    bugs = _choose(names)
    if is_list:
        click.echo("\n".join(rows_of(bugs)))
        return
    ensure_archive()
    with Postgres() as server, scratch_directory() as home:
        bench = Bench(home=home, dsn=server.create_database(DATABASE), seed=seed)
        wrong = run(bench, bugs)
    sys.exit(1 if wrong else 0)
