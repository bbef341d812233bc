"""Plants faults into tables of every type, and counts those that `prove` does not find.

    python -m campaigns.prove_faults [--kind "delta, merged"]

Four tables (PostgreSQL and Delta, appended and merged by key) are written by guarded streams on
real Spark. Each is proved untouched, with every fault of a value, each in a row of its own, and
with every fault of whole rows. That a fault is there is found by other code: PostgreSQL itself, and
pyarrow. Ends with 1 when a fault was missed, or an untouched table was called wrong.
"""

from __future__ import annotations

import sys
import time

import click

from campaigns.prove_faults.play import KINDS, Played, make_table, play
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import start_session
from lab.warm_up import ensure_archive

UNTOUCHED = ("untouched", "put back")


def report(found: list[Played]) -> int:
    """Print a line per table; return how many answers were wrong."""
    print(f"\n{'table':<20} {'faults':>7} {'missed':>7} {'untouched':>10} {'false alarms':>13}")
    for kind in dict.fromkeys(each.kind for each in found):
        faults = [each for each in found if each.kind == kind and each.fault not in UNTOUCHED]
        clean = [each for each in found if each.kind == kind and each.fault in UNTOUCHED]
        missed, alarms = (sum(bool(each.wrong) for each in some) for some in (faults, clean))
        print(f"{kind:<20} {len(faults):>7} {missed:>7} {len(clean):>10} {alarms:>13}")
    return sum(bool(each.wrong) for each in found)


@click.command()
@click.option("--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="Only this table.")
def main(kinds: tuple[str, ...]) -> None:
    """Plant every fault into every table."""
    ensure_archive()
    found: list[Played] = []
    with Postgres() as postgres, scratch_directory() as home:
        spark = start_session(home / "spark", {})
        for kind in kinds or KINDS:
            began = time.monotonic()
            table = make_table(kind, spark=spark, postgres=postgres, home=home)
            for each in play(kind, table, table.plants):
                found.append(each)
                verdict = f"MISSED {each.wrong}" if each.wrong else "found"
                is_clean = each.fault in UNTOUCHED and not each.wrong
                print(f"{kind}: {each.fault}: {'exact' if is_clean else verdict}", flush=True)
            print(f"{kind}: {time.monotonic() - began:.0f} s", flush=True)
        spark.stop()
    sys.exit(1 if report(found) else 0)


if __name__ == "__main__":
    main()
