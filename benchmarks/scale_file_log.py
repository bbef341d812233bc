"""A compact log of the file source, streamed from local disk.

It holds every file that a query has ever read, so it only grows. The baseline is `json.loads` of
the same lines. What 50 million entries cost is extrapolated from the largest size.
"""

from __future__ import annotations

import json
import random
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measuring import in_turns, peak_rss_mb, ratios, run_child, show_growth, spread
from holdfast.checkpoint.sources.files import FileEntry, parse_file_log
from holdfast.storage.open import open_reader
from holdfast.storage.read import read_chunks

SIZES = (50_000, 500_000, 5_000_000)
QUICK_SIZES = (5_000, 50_000, 500_000)
TURNS = 5
FEWEST_PER_CPU_SECOND = 500_000
MOST_RSS_MB = 512
EXTRAPOLATED = 50_000_000

_FILES_PER_BATCH = 1_000
_WRITTEN_AT_ONCE = 50_000


def report(directory: Path, *, seed: int, quick: bool) -> list[str]:
    """Measure all sizes, print the table and return the targets that were missed."""
    print(f"File source: one .compact, streamed from disk; {TURNS} turns each, CPU time")
    print(
        f"{'entries':>12}{'MB':>8}  {'CPU s':<24}{'entries/CPU s':>14}{'ns/entry':>10}"
        f"  {'over json.loads':<20}{'peak RSS, MB':>12}"
    )
    sizes, missed, each = QUICK_SIZES if quick else SIZES, [], []
    for size in sizes:
        log = directory / f"{size}.compact"
        write_log(log, size, random.Random(seed))  # noqa: S311 - repeatable, not secret
        megabytes = log.stat().st_size / 1e6
        times = run_child(__name__, "time", log)
        peak_mb = run_child(__name__, "memory", log)
        log.unlink()
        ours = spread(times["holdfast"])
        each.append(ours.median / size)
        print(
            f"{size:>12,}{megabytes:>8,.0f}  {ours.show(3):<24}{size / ours.median:>14,.0f}"
            f"{each[-1] * 1e9:>10,.0f}  {ratios(times['holdfast'], times['json']).show(2):<20}"
            f"{peak_mb:>12,.0f}"
        )
        if size / ours.median < FEWEST_PER_CPU_SECOND:
            missed.append(f"{size / ours.median:,.0f} of {size:,} log entries per CPU second")
        if peak_mb > MOST_RSS_MB:
            missed.append(f"{size:,} log entries take {peak_mb:.0f} MB")
    print(show_growth("entries", sizes, each))
    print(
        f"  {EXTRAPOLATED:,} entries would be {megabytes / size * EXTRAPOLATED / 1e3:.1f} GB and "
        f"take {each[-1] * EXTRAPOLATED:.0f} CPU s; the memory stays."
    )
    return missed


def write_log(log: Path, entries: int, chance: random.Random) -> None:
    """Write a log as Spark does: the files of a batch beside each other, no line end at the end."""
    with log.open("wb") as file:
        file.write(b"v1")
        for start in range(0, entries, _WRITTEN_AT_ONCE):
            numbers = range(start, min(start + _WRITTEN_AT_ONCE, entries))
            file.write("".join(_lines(numbers, chance)).encode())


def _lines(numbers: range, chance: random.Random) -> Iterator[str]:
    for number in numbers:
        batch, part = divmod(number, _FILES_PER_BATCH)
        name = f"part-{part:05d}-{uuid.UUID(int=chance.getrandbits(128), version=4)}.json"
        yield (
            f'\n{{"path":"s3a://lake/landing/2026/11/{1 + batch % 30:02d}/{name}",'
            f'"timestamp":{1794716020332 + 7 * number},"batchId":{batch}}}'
        )


def stream(log: Path) -> int:
    """Read the log as Holdfast does and keep nothing; return how many entries it holds."""
    reader = open_reader(str(log.parent))
    count = 0
    for entry in parse_file_log(log.name, read_chunks(reader, log.name)):
        assert isinstance(entry, FileEntry), entry
        count += 1
    return count


def load_each_line(log: Path) -> None:
    """Read the log with the standard library and keep nothing."""
    with log.open("rb") as lines:
        next(lines)
        for line in lines:
            json.loads(line)


def measure_time(log: Path) -> dict[str, list[float]]:
    """Return the CPU seconds of each turn."""
    return in_turns(
        {"holdfast": lambda: stream(log), "json": lambda: load_each_line(log)},
        TURNS,
        clock=time.process_time,
    )


def measure_memory(log: Path) -> float:
    """Return the peak in MB of one pass."""
    assert stream(log) == int(log.stem)
    return peak_rss_mb()


if __name__ == "__main__":
    modes: dict[str, Callable[[Path], object]] = {"time": measure_time, "memory": measure_memory}
    print(json.dumps(modes[sys.argv[1]](Path(sys.argv[2]))))
