"""One situation: what was said of it before a restart, and what real Spark then did.

A family of situations is a module with a tuple `SITUATIONS`. Each is made with the real parts
twice: whole, where nothing above a note may be found, and damaged, where the rule must find it.
Then real Spark is restarted on a copy, and what it did is compared with what was said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from holdfast.grades import Effect, Severity
from holdfast.proof.multiset import Difference
from holdfast.rules import Finding
from lab import Kafka


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where a situation is made."""

    spark: SparkSession
    place: Path
    """An empty directory of its own."""
    kafka: Callable[[], Kafka]
    """Returns a broker, which all situations share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What was said, and what was seen."""

    healthy: tuple[Finding, ...]
    """What is found before the damage, with the same looks at source and sink."""
    findings: tuple[Finding, ...]
    """What is found after the damage, before the restart."""
    difference: Difference | None = None
    """What the sink holds after the restart, against what it must hold; None if Spark refused."""
    error: str = ""
    """Of the restart: Spark's error condition, or words of its message; empty when it ran."""
    spark_said: str = "nothing"
    """What Spark told of it: `nothing`, or the words of its error or warning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What can happen to a stream."""

    name: str
    """In small letters and hyphens."""
    code: str
    """Of the rule that finds it."""
    make: Callable[[Bench], Shown]
    trap: str = ""
    """A sentence that tells it, if it is one of the ten silent traps."""


def find_problems(situation: Situation, shown: Shown) -> Iterator[str]:
    """Yield how what was said differs from what was seen; nothing when they agree."""
    for each in shown.healthy:
        if each.severity is not Severity.NOTE:
            yield f"a false alarm before the damage: {each}"
    found = [each for each in shown.findings if each.code == situation.code]
    if not found:
        said = [str(each) for each in shown.findings]
        yield f"{situation.code} was not found; found: {said}"
        return
    yield from _compare(found[0], shown)


def _compare(finding: Finding, shown: Shown) -> Iterator[str]:
    effect, seen = finding.effect, shown.difference
    if effect is Effect.FAILS:
        if not shown.error:
            yield f"Spark started, although this was said: {finding.what}"
        return
    if seen is None:
        yield f"Spark failed ({shown.error}), although this was said: {finding.what}"
        return
    counted = {
        Effect.LOSES: seen.missing,
        Effect.REPEATS: seen.duplicated,
        Effect.ALTERS: seen.foreign,
    }.get(effect)
    if counted == 0:
        yield f"nothing of the kind happened ({seen}), although this was said: {finding.what}"
    amount = finding.amount
    if amount is not None and amount.unit in ("record", "row") and counted != amount.number:
        yield f"{amount.number} {amount.unit}s were said, {counted} were seen"
