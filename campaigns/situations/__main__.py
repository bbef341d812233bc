"""`python -m campaigns.situations [NAME…]`: every situation on real Spark, as a table.

Exits with 1 if what was said of one is not what Spark did.
"""

from __future__ import annotations

import sys

from campaigns.situations.families import find_situations
from campaigns.situations.running import Ran, run_all


def show(ran: Ran) -> None:
    """Print one row."""
    situation, outcome = ran.situation, ran.display_name.error or ran.display_name.difference
    verdict = "FAIL" if ran.problems else "ok"
    row = f"{verdict:4} {situation.code} {situation.name:40} {ran.took_s:4.0f} s  {outcome}"
    print(row, flush=True)
    for problem in ran.problems:
        print(f"       {problem}")


def main(names: list[str]) -> int:
    """Run the situations named, or all."""
    chosen = [each for each in find_situations() if not names or each.name in names]
    as_said = 0
    for ran in run_all(chosen):
        show(ran)
        as_said += not ran.problems
    print(f"{as_said} of {len(chosen)} situations as said")
    return 0 if chosen and as_said == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
