"""`python -m campaigns.situations [NAME…]`: every situation on real Spark, as a table.

Exits with 1 if what was said of one is not what Spark did.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from functools import cache

from campaigns.situations.families import find_situations
from campaigns.situations.situation import Bench, Situation, find_problems
from lab import Kafka
from lab.scratch import scratch_directory
from lab.spark import start_session


def run(situation: Situation, bench: Bench) -> bool:
    """Run one situation, print its row, and return whether Spark did what was said."""
    began = time.monotonic()
    shown = situation.make(bench)
    problems = list(find_problems(situation, shown))
    took = time.monotonic() - began
    outcome = shown.error or shown.difference
    verdict = "FAIL" if problems else "ok"
    print(f"{verdict:4} {situation.code} {situation.name:40} {took:4.0f} s  {outcome}", flush=True)
    for problem in problems:
        print(f"       {problem}")
    return not problems


def main(names: list[str]) -> int:
    """Run the situations named, or all."""
    chosen = [each for each in find_situations() if not names or each.name in names]
    with scratch_directory() as scratch, ExitStack() as servers:
        kafka = cache(lambda: servers.enter_context(Kafka()))
        spark = start_session(scratch, {})
        as_said = 0
        for each in chosen:
            place = scratch / each.name
            place.mkdir()
            as_said += run(each, Bench(spark=spark, place=place, kafka=kafka))
    print(f"{as_said} of {len(chosen)} situations as said")
    return 0 if chosen and as_said == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
