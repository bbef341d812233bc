"""`python -m campaigns.edits [WORD…]`: typical edits, the verdict of each, and what Spark did.

Only edits that have one of the words in their name are run. Exits with 1 if a verdict is wrong.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import cache

from campaigns.edits.catalogue import EDITS
from campaigns.edits.edit import Scene
from campaigns.edits.run import run
from lab import Kafka
from lab.scratch import scratch_directory
from lab.spark import start_session


def main(words: list[str]) -> int:
    """Run the edits that are asked for, or all; print a table."""
    chosen = [each for each in EDITS if not words or any(word in each.name for word in words)]
    right = 0
    print("| edit | verdict | because of | what Spark did |\n| --- | --- | --- | --- |")
    with scratch_directory() as scratch, ExitStack() as servers:
        kafka = cache(lambda: servers.enter_context(Kafka()))
        spark = start_session(scratch, {})
        for number, edit in enumerate(chosen):
            place = scratch / f"edit-{number}"
            place.mkdir()
            outcome = run(edit, spark, Scene(place=place, kafka=kafka))
            codes = " ".join(dict.fromkeys(each.code for each in outcome.said.findings)) or "-"
            print(f"| {edit} | {outcome.said.verdict} | {codes} | {outcome.seen} |", flush=True)
            problems = outcome.problems(edit)
            for problem in problems:
                print(f"     WRONG: {problem}; unknown: {outcome.said.unknown}")
            right += not problems
    print(f"\n{right} of {len(chosen)} verdicts are what Spark confirms.")
    return 0 if right == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
