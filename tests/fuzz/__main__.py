"""`python -m tests.fuzz`: every damage and every hostile checkpoint, and what became of them."""

from __future__ import annotations

import argparse
import random
import sys
import time

from tests.fuzz.suite import PARTS, Tally, repeat
from tests.fuzz.trials import Failure


def main() -> int:
    """Run the suite, or one case of it; 1 when something failed."""
    options = _parse_arguments()
    if options.only:
        found = repeat(options.only)
        print(f"FAILED {found.why}" if found else "passed")
        return 1 if found else 0
    print(f"seed: {options.seed} (repeat with --seed {options.seed})", flush=True)
    whole, began = Tally(), time.monotonic()
    for part in options.part or PARTS:
        tally, started = Tally(), time.monotonic()
        for each in PARTS[part](options.seed):
            tally.add(each)
        _print_counts(part, tally, time.monotonic() - started)
        whole.add(tally)
    for failure in whole.failures:
        _print_failure(failure)
    seconds = time.monotonic() - began
    print(f"{whole.counts.total():,} cases, {len(whole.failures):,} failures, {seconds:,.0f} s")
    return 1 if whole.failures else 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--part", choices=PARTS, action="append", help="Only this.")
    parser.add_argument("--only", metavar="CASE", help="Repeat one case, by its name.")
    return parser.parse_args()


def _print_counts(part: str, tally: Tally, seconds: float) -> None:
    print(f"\n{part}: {tally.counts.total():,} cases, {seconds:,.0f} s")
    columns = sorted({kind for _, kind in tally.counts})
    print("".join([f"  {'':20}", *(f"{column:>12}" for column in columns)]))
    for row in sorted({row for row, _ in tally.counts}):
        cells = [f"{tally.counts[row, column]:>12,}" for column in columns]
        print(f"  {row:20}{''.join(cells)}", flush=True)


def _print_failure(failure: Failure) -> None:
    print(f"\nFAILED {failure.case}\n  {failure.why}")
    print(f"  repeat with: python -m tests.fuzz --only '{failure.case}'", flush=True)


if __name__ == "__main__":
    sys.exit(main())
