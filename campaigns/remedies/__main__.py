"""`python -m campaigns.remedies [NAME…]`: every remedy on real damage, as a table.

Exits with 1 if one of them is not offered, gives no plan, or does not end as it said.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterable
from contextlib import ExitStack
from functools import cache

from campaigns.remedies.families import find_remedies
from campaigns.remedies.remedy import Bench, Remedy, find_problems
from lab import Kafka, Postgres
from lab.scratch import scratch_directory
from lab.spark import start_session


def main(names: list[str]) -> int:
    """Carry out the remedies named, or all."""
    chosen = [each for each in find_remedies() if not names or each.name in names]
    as_said = sum(_carry_out(chosen))
    print(f"{as_said} of {len(chosen)} remedies end as they say")
    return 0 if chosen and as_said == len(chosen) else 1


def _carry_out(chosen: Iterable[Remedy]) -> Iterable[bool]:
    with scratch_directory() as scratch, ExitStack() as servers:
        kafka = cache(lambda: servers.enter_context(Kafka()))
        postgres = servers.enter_context(Postgres())
        spark = start_session(scratch, {})
        for each in chosen:
            place = scratch / each.name
            place.mkdir()
            bench = Bench(
                spark=spark,
                place=place,
                database=lambda: postgres.create_database(f"r{uuid.uuid4().hex[:12]}"),
                kafka=kafka,
            )
            yield _show(each, bench)


def _show(remedy: Remedy, bench: Bench) -> bool:
    """Carry out one remedy and print its row; return whether it ended as it said."""
    began = time.monotonic()
    row = f"{remedy.code} {remedy.name:30} {remedy.goal:7}"
    try:
        done = remedy.carry_out(bench, remedy.code)
    except Exception as error:  # noqa: BLE001 - the other remedies are carried out as well
        print(f"FAIL {row} {type(error).__name__}: {str(error)[:600]}", flush=True)
        return False
    problems = list(find_problems(remedy, done))
    words = " ".join(sorted(done.allowed)) or "-"
    took_s = time.monotonic() - began
    seen = done.difference
    counts = f"{seen.expected:3} rows, {seen.missing} missing, {seen.duplicated} duplicated"
    verdict = "FAIL" if problems else "ok  "
    print(f"{verdict} {row} {took_s:4.0f} s  {counts}  allowed: {words}", flush=True)
    for problem in problems:
        print(f"       {problem}")
    return not problems


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
