"""Ten traps of a restart in which Spark says nothing, as a table.

    python -m campaigns.silent_traps

Each is a situation of `campaigns.situations`: made with real parts, diagnosed before the restart,
then restarted on a copy. The README quotes what this prints. Exits with 1 unless there are ten, and
each was said before.
"""

from __future__ import annotations

import sys

from campaigns.situations.families import find_situations
from campaigns.situations.running import run_all
from campaigns.situations.situation import Shown, Situation
from holdfast.proof.multiset import Difference

TRAPS = 10
HEAD = "| trap | Spark says | the data shows | Holdfast said before |\n| --- | --- | --- | --- |"


def describe(difference: Difference | None) -> str:
    """Say what a restart did to the data: `40 lost, 12 duplicated`."""
    if difference is None:
        return "Spark refused"
    counted = {
        "lost": difference.missing,
        "duplicated": difference.duplicated,
        "wrong": difference.foreign,
    }
    return ", ".join(f"{number:,} {word}" for word, number in counted.items() if number) or "exact"


def row_of(situation: Situation, shown: Shown) -> str:
    """Return one row of the table."""
    said = next(each for each in shown.findings if each.code == situation.code)
    cells = (
        situation.trap,
        shown.spark_said,
        describe(shown.difference),
        f"{said.code} {said.name}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Run the traps and print the table."""
    traps = [each for each in find_situations() if each.trap]
    failed = 0
    print(HEAD, flush=True)
    for ran in run_all(traps):
        failed += bool(ran.problems)
        row = (
            row_of(ran.situation, ran.display_name) if not ran.problems else "\n".join(ran.problems)
        )
        print(row, flush=True)
    print(f"{len(traps) - failed} of {len(traps)} traps as said")
    return 0 if not failed and len(traps) >= TRAPS else 1


if __name__ == "__main__":
    sys.exit(main())
