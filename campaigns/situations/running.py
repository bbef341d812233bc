"""Makes situations one after the other: one Spark session, and one Kafka when the first asks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache

from campaigns.situations.situation import Bench, Shown, Situation, find_problems
from lab import Kafka
from lab.scratch import scratch_directory
from lab.spark import start_session


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A situation that was made."""

    situation: Situation
    display_name: Shown
    problems: tuple[str, ...]
    """What is not as it was said; empty when all is."""
    took_s: float


def run_all(situations: Iterable[Situation]) -> Iterator[Ran]:
    """Make each situation in a directory of its own, and compare what was said with what it did."""
    with scratch_directory() as scratch, ExitStack() as servers:
        kafka = cache(lambda: servers.enter_context(Kafka()))
        spark = start_session(scratch, {})
        for each in situations:
            place = scratch / each.name
            place.mkdir()
            began = time.monotonic()
            shown = each.make(Bench(spark=spark, place=place, kafka=kafka))
            problems = tuple(find_problems(each, shown))
            took_s = time.monotonic() - began
            yield Ran(situation=each, display_name=shown, problems=problems, took_s=took_s)
