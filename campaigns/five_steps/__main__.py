"""The five steps of a reset, as documents write them, and the same reset as a plan.

    python -m campaigns.five_steps [--kind KIND] [--only VARIANT] [--format text|markdown]

A pipeline of two stages on real Kafka, Delta and PostgreSQL puts 600 messages through a bug in its
first stage. Then it is reset: stop, clear the output, delete the checkpoint, start from earliest,
with the bug corrected. 400 more messages follow, and the last table is compared row by row with all
1,000. Each cell is one way to write, and one way to take the steps.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from campaigns.five_steps import by_hand, guarded, stages
from campaigns.five_steps.by_hand import Outcome, Pipeline
from campaigns.five_steps.guarded import Guarded
from campaigns.five_steps.servers import EXPIRED, Servers
from lab import Kafka, Postgres
from lab.scratch import scratch_directory
from lab.spark import start_session
from lab.warm_up import ensure_archive


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One way to write, and one way to take the steps."""

    kind: str
    written: str
    variant: str
    play: Callable[[Servers], Outcome]


def find_cells() -> Iterator[Cell]:
    """Yield every cell, by hand first."""
    for kind, written in stages.KINDS.items():
        for variant in by_hand.VARIANTS:
            yield Cell(kind=kind, written=written, variant=variant, play=_by_hand(kind, variant))
    for kind, written in guarded.KINDS.items():
        for variant in guarded.VARIANTS:
            yield Cell(kind=kind, written=written, variant=variant, play=_planned(kind, variant))


def _by_hand(kind: str, variant: str) -> Callable[[Servers], Outcome]:
    def play(servers: Servers) -> Outcome:
        pipeline = Pipeline(servers=servers, kind=kind, name=_name("h", kind, variant))
        by_hand.VARIANTS[variant](pipeline)
        return pipeline.outcome()

    return play


def _planned(kind: str, variant: str) -> Callable[[Servers], Outcome]:
    def play(servers: Servers) -> Outcome:
        pipeline = Guarded(servers=servers, kind=kind, name=_name("p", kind, variant))
        guarded.VARIANTS[variant](pipeline)
        return pipeline.outcome()

    return play


def _name(*parts: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", "_".join(parts).lower())[:50]


def text_row(cell: Cell, found: Outcome) -> str:
    """Return a cell's line for a terminal."""
    seen = found.difference
    return (
        f"{cell.written:<24}{cell.variant:<40}{seen.missing:>6,}{seen.duplicated:>12,}"
        f"{seen.foreign:>7,}  {_say(cell, found)}"
    )


def markdown_row(cell: Cell, found: Outcome) -> str:
    """Return a cell's line for the documentation."""
    seen = found.difference
    figures = " | ".join(f"{each:,}" for each in (seen.missing, seen.duplicated, seen.foreign))
    return f"| {cell.written} | {cell.variant} | {figures} | {_say(cell, found)} |"


def _say(cell: Cell, found: Outcome) -> str:
    said = "exact" if found.difference.exact else "not exact"
    if not found.difference.exact and _only_expired(cell, found):
        said = "exact but for what expired"
    return f"{said}; {found.failed}" if found.failed else said


ROWS = {"text": text_row, "markdown": markdown_row}
HEADS = {
    "text": f"{'written as':<24}{'the five steps':<40}{'lost':>6}{'duplicated':>12}{'wrong':>7}",
    "markdown": (
        "| written as | the five steps | lost | duplicated | wrong | |\n|---|---|--:|--:|--:|---|"
    ),
}


@contextmanager
def running_servers() -> Iterator[Servers]:
    """Start what the cells need."""
    ensure_archive()
    with Kafka() as kafka, Postgres() as postgres, scratch_directory() as scratch:
        spark = start_session(scratch / "session", {})
        yield Servers(kafka=kafka, postgres=postgres, spark=spark, scratch=scratch)
        spark.stop()


@click.command(help=__doc__)
@click.option("--kind", help="Only one way to write.")
@click.option("--only", help="Only one way to take the steps.")
@click.option("--format", "form", type=click.Choice(list(ROWS)), default="text", show_default=True)
def main(kind: str | None, only: str | None, form: str) -> None:
    """Play the cells and print the table, row by row as they end."""
    cells = [
        each for each in find_cells() if kind in (None, each.kind) and only in (None, each.variant)
    ]
    rows, bad = [HEADS[form]], 0
    with running_servers() as servers:
        for cell in cells:
            try:
                found = cell.play(servers)
            except Exception:  # noqa: BLE001 - the other cells are played as well
                bad += 1
                rows.append(f"FAIL {cell.written}: {cell.variant}")
                traceback.print_exc()
            else:
                is_planned = cell.kind in guarded.KINDS
                is_right = found.difference.exact or _only_expired(cell, found)
                bad += is_planned and not is_right
                rows.append(ROWS[form](cell, found))
            click.echo(rows[-1], err=True)
    click.echo("\n".join(rows))
    sys.exit(1 if bad or not cells else 0)


def _only_expired(cell: Cell, found: Outcome) -> bool:
    """Return whether nothing is missing but what the topic has no more."""
    seen = found.difference
    lost = EXPIRED if "expired" in cell.variant else 0
    return (seen.missing, seen.duplicated, seen.foreign) == (lost, 0, 0)


if __name__ == "__main__":
    main()
