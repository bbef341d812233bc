"""What must not grow from restart to restart, sampled before every kill, and how it is judged."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil
import psycopg

from lab import S3

MOST_GROWTH = 1.10
LEAST_SAMPLES = 12
"""Fewer say nothing: the checkpoints are still filling up."""
STREAMS = 4

STARTS, BATCHES = "starts", "batches"
BOUNDED = (
    "driver's JVM, MB",
    "driver's Python, MB",
    "JVM's open files",
    "Python's open files",
    "PostgreSQL sessions",
    "ledger rows",
    "checkpoint files",
    "other record files",
)
PER_START = {"lease files": STREAMS, "run files": STREAMS}
"""One of each stream's start is kept: who ran when is what an incident is explained from."""
NOT_JUDGED = ("Python workers, MB", "history rows", "table files", "table log files", BATCHES)
"""Workers come and go with the batches. The history has one row a batch of the one stream into
PostgreSQL; a table's own files are Delta's.
"""

_RECORD = re.compile(r".*/checkpoints/_holdfast/[^/]+/([^/]+)/.*")
_CHECKPOINT = re.compile(r".*/checkpoints/([^/]+)/.*")
_OFFSETS = re.compile(r".*/checkpoints/([^/]+)/offsets/([0-9]+)")
_KINDS = {"leases": "lease files", "runs": "run files"}
_MB = 1024 * 1024

Sample = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """One figure, early and late."""

    name: str
    first: float
    """Median of the first quarter of the samples."""
    last: float
    """Median of the last quarter."""
    most: float | None
    """What the last may be; None for what grows with the data."""

    @property
    def is_too_much(self) -> bool:
        """Whether it grew though it must not, or by more than is stated."""
        return self.most is not None and self.last > self.most


def take_sample(driver: int, dsn: str, *, s3: S3, prefix: str) -> dict[str, float]:
    """Measure a living driver and everything it leaves behind.

    Args:
        driver: Its process.
        dsn: The database it writes into; nobody else uses it.
        s3: Where its tables, checkpoints and record are.
        prefix: Below which.

    Raises:
        psutil.Error, psycopg.Error, obstore.exceptions.BaseError: Something did not answer.
    """
    paths = [entry["path"] for page in s3.store().list(prefix) for entry in page]
    return {**measure_processes(driver), **measure_database(dsn), **count_files(paths)}


def measure_processes(driver: int) -> dict[str, float]:
    """Return memory and open files of a driver, its JVM and its Python workers."""
    first = psutil.Process(driver)
    below = first.children(recursive=True)
    java = [each for each in below if each.name() == "java"]
    workers = [each for each in below if each.name() != "java"]
    return {
        "driver's JVM, MB": sum(each.memory_info().rss for each in java) / _MB,
        "driver's Python, MB": first.memory_info().rss / _MB,
        "Python workers, MB": sum(each.memory_info().rss for each in workers) / _MB,
        "JVM's open files": sum(each.num_fds() for each in java),
        "Python's open files": first.num_fds(),
    }


def measure_database(dsn: str) -> dict[str, float]:
    """Return how many sessions but ours a database has, and how many rows the ledger's tables."""
    counts = {
        "PostgreSQL sessions": "pg_stat_activity where datname = current_database()"
        " and pid <> pg_backend_pid()",
        "ledger rows": "holdfast.ledger",
        "history rows": "holdfast.history",
    }
    found = {}
    with psycopg.connect(dsn, connect_timeout=10) as connection:
        for name, rows in counts.items():
            row = connection.execute(f"select count(*) from {rows}".encode()).fetchone()  # noqa: S608 - no value in it
            found[name] = float(row[0]) if row else 0.0
    return found


def count_files(paths: Sequence[str]) -> dict[str, float]:
    """Count a lake's files by what they are, and the batches that were ever planned."""
    kinds = ("checkpoint files", "other record files", *PER_START, "table files", "table log files")
    counts = Counter(dict.fromkeys(kinds, 0))
    batches: dict[str, int] = {}
    for path in paths:
        counts[_kind_of(path)] += 1
        if found := _OFFSETS.fullmatch(path):
            batches[found[1]] = max(batches.get(found[1], 0), int(found[2]) + 1)
    return {
        **{name: float(count) for name, count in counts.items()},
        BATCHES: sum(batches.values()),
    }


def _kind_of(path: str) -> str:
    if found := _RECORD.fullmatch(path):
        return _KINDS.get(found[1], "other record files")
    if _CHECKPOINT.fullmatch(path):
        return "checkpoint files"
    return "table log files" if "/_delta_log/" in path else "table files"


def most_of(early: Sequence[Sample], name: str) -> float:
    """Return what a figure may be later.

    Above everything seen early too: what goes up and down all the time does not grow.
    """
    figures = [each[name] for each in early]
    return max(statistics.median(figures) * MOST_GROWTH, *figures)


def judge_growth(samples: Sequence[Sample]) -> list[Growth]:
    """Compare the first quarter of the samples with the last, figure by figure."""
    quarter = max(1, len(samples) // 4)
    early, late = samples[:quarter], samples[-quarter:]

    def median(part: Sequence[Sample], name: str) -> float:
        return statistics.median(each[name] for each in part)

    starts = median(late, STARTS) - median(early, STARTS)
    found = []
    for name in (*BOUNDED, *PER_START, *NOT_JUDGED):
        first, last = median(early, name), median(late, name)
        most = None
        if name in BOUNDED:
            most = most_of(early, name)
        elif name in PER_START:
            most = first + starts * PER_START[name] * MOST_GROWTH
        found.append(Growth(name=name, first=first, last=last, most=most))
    return found


def describe_growth(samples: Sequence[Sample]) -> str:
    """Return the figures as a table."""
    lines = [f"  {'median of a quarter':<24}{'first':>10}{'last':>10}{'at most':>10}"]
    for each in judge_growth(samples):
        most = "" if each.most is None else f"{each.most:,.0f}"
        verdict = "  GROWS" if each.is_too_much else ""
        lines.append(f"  {each.name:<24}{each.first:>10,.0f}{each.last:>10,.0f}{most:>10}{verdict}")
    return "\n".join(lines)
