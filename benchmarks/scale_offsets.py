"""Two offset entries of Kafka, from their bytes to the records between them.

The partitions are all of one topic, which takes the most memory. The baseline is `json.loads` of
the two offsets and nothing else.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.measuring import in_turns, peak_rss_mb, ratios, run_child, show_growth, spread
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.ids import BatchId
from holdfast.sources.kafka.kind import KafkaOffset, count_records
from holdfast.sources.registry import parse_offset

SIZES = (100, 10_000, 1_000_000)
QUICK_SIZES = (100, 1_000, 10_000)
TURNS = 11
JUDGED_TIME, MOST_MILLISECONDS = 10_000, 20
JUDGED_RSS, MOST_RSS_MB = 1_000_000, 600

_METADATA = '{"batchWatermarkMs":0,"batchTimestampMs":1794716020332,"conf":{}}'


def report(directory: Path, *, seed: int, quick: bool) -> list[str]:
    """Measure all sizes, print the table and return the targets that were missed."""
    print(f"Kafka offsets: two entries from bytes to the records between; {TURNS} turns each")
    print(
        f"{'partitions':>12}  {'parse both, ms':<28}{'diff, ms':<28}{'ns/partition':>12}"
        f"  {'over json.loads':<20}{'peak RSS, MB':>12}"
    )
    sizes, missed, each = QUICK_SIZES if quick else SIZES, [], []
    for size in sizes:
        place = directory / f"offsets-{size}"
        write_entries(place, size, random.Random(seed))  # noqa: S311 - repeatable, not secret
        times = run_child(__name__, "time", place)
        peak_mb = run_child(__name__, "memory", place)
        parsing, diff = spread(times["parse"]), spread(times["diff"])
        whole = [sum(pair) for pair in zip(times["parse"], times["diff"], strict=True)]
        total = spread(whole).median
        each.append(total / size)
        print(
            f"{size:>12,}  {parsing.show(2, times=1e3):<28}{diff.show(2, times=1e3):<28}"
            f"{total / size * 1e9:>12,.0f}  {ratios(whole, times['json']).show(2):<20}"
            f"{peak_mb:>12,.0f}"
        )
        if size == JUDGED_TIME and total * 1e3 > MOST_MILLISECONDS:
            missed.append(f"{size:,} partitions take {total * 1e3:.1f} ms to parse and diff")
        if size == JUDGED_RSS and peak_mb > MOST_RSS_MB:
            missed.append(f"{size:,} partitions take {peak_mb:.0f} MB")
    print(show_growth("partitions", sizes, each))
    return missed


def write_entries(place: Path, partitions: int, chance: random.Random) -> None:
    """Write the entries of two batches; some records lie between them in every partition."""
    place.mkdir()
    offsets = [chance.randrange(10**9, 10**12) for _ in range(partitions)]
    for batch in range(2):
        text = json.dumps({"events": dict(enumerate(offsets))}, separators=(",", ":"))
        (place / str(batch)).write_text(f"v1\n{_METADATA}\n{text}")
        offsets = [offset + chance.randrange(10_000) for offset in offsets]


def parse(raw: bytes) -> tuple[OffsetEntry, KafkaOffset]:
    """Read an entry all the way; both values, as whoever compares entries holds them."""
    entry = parse_offset_entry("offsets/0", BatchId(0), raw)
    assert isinstance(entry, OffsetEntry)
    offset = parse_offset(entry.offsets[0].text or "")
    assert isinstance(offset, KafkaOffset)
    return entry, offset


def measure_time(place: Path) -> dict[str, list[float]]:
    """Return the seconds of each turn."""
    before, after = ((place / str(batch)).read_bytes() for batch in range(2))
    (_, start), (_, end) = parse(before), parse(after)
    return in_turns(
        {
            "parse": lambda: (parse(before), parse(after)),
            "diff": lambda: count_records(start, end),
            "json": lambda: [json.loads(raw.split(b"\n")[2]) for raw in (before, after)],
        },
        TURNS,
    )


def measure_memory(place: Path) -> float:
    """Return the peak in MB with both entries and both offsets held."""
    before, after = ((place / str(batch)).read_bytes() for batch in range(2))
    (_, start), (_, end) = held = parse(before), parse(after)
    assert count_records(start, end) is not None
    assert held
    return peak_rss_mb()


if __name__ == "__main__":
    modes: dict[str, Callable[[Path], object]] = {"time": measure_time, "memory": measure_memory}
    print(json.dumps(modes[sys.argv[1]](Path(sys.argv[2]))))
