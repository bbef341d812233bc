"""A checkpoint on S3, read whole, against nothing but the listing of its objects.

The server is the lab's. `--huge` adds a checkpoint of four million objects that is nowhere: its
listing is made while it is read, which leaves the time and the memory that Holdfast itself takes.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import obstore

from benchmarks.large_checkpoint import GeneratedReader, LargeCheckpoint
from benchmarks.measuring import in_turns, peak_rss_mb, ratios, run_child, show_growth, spread
from holdfast.checkpoint import read_checkpoint
from holdfast.storage.objects import LIST_CHUNK, ObjectReader
from holdfast.storage.open import open_reader
from lab import S3
from lab.s3 import ACCESS_KEY, BUCKET, REGION, SECRET_KEY

PARTITIONS = (20, 200, 1_000)
QUICK_PARTITIONS = (2, 20, 60)
HUGE_PARTITIONS = 40_000
TURNS = 7
UPLOADERS = 32
MOST_TIMES_LISTING = 2.0


def report(*, quick: bool) -> list[str]:
    """Measure all sizes, print the table and return the targets that were missed."""
    print(f"Checkpoint on S3: read_checkpoint against the bare listing; {TURNS} turns each")
    print(
        f"{'objects':>12}  {'listing, s':<24}{'read_checkpoint, s':<24}{'us/object':>10}"
        f"  {'over the listing':<20}"
    )
    missed, sizes, each = [], [], []
    with S3() as s3:
        for partitions in QUICK_PARTITIONS if quick else PARTITIONS:
            checkpoint = LargeCheckpoint(partitions)
            size = len(checkpoint)
            reader = upload(checkpoint, s3)
            times = measure_time(reader, size)
            listing, ours = spread(times["listing"]), spread(times["read"])
            ratio = ratios(times["read"], times["listing"])
            sizes.append(size)
            each.append(ours.median / size)
            print(
                f"{size:>12,}  {listing.show(3):<24}{ours.show(3):<24}{each[-1] * 1e6:>10,.1f}"
                f"  {ratio.show(2):<20}"
            )
            if partitions == PARTITIONS[1] and ratio.median > MOST_TIMES_LISTING:
                missed.append(f"{size:,} objects take {ratio.median:.1f} times the bare listing")
    print(show_growth("objects", sizes, each))
    return missed


def upload(checkpoint: LargeCheckpoint, s3: S3) -> ObjectReader:
    """Put the files of a checkpoint into the bucket and return a reader as a user would get it."""
    place = f"checkpoints/{checkpoint.partitions}"
    store = s3.store()
    with ThreadPoolExecutor(UPLOADERS) as pool:
        for _ in pool.map(
            lambda file: obstore.put(store, f"{place}/{file[0]}", file[1]), checkpoint.files()
        ):
            pass
    options = {
        "endpoint": s3.address,
        "access_key_id": ACCESS_KEY,
        "secret_access_key": SECRET_KEY,
        "region": REGION,
    }
    reader = open_reader(f"s3://{BUCKET}/{place}", options)
    assert isinstance(reader, ObjectReader)
    return reader


def measure_time(reader: ObjectReader, size: int) -> dict[str, list[float]]:
    """Return the seconds of each turn."""

    def list_all() -> None:
        pages = obstore.list(reader.store, chunk_size=LIST_CHUNK)
        found = sum(len(page) for page in pages)
        assert found == size, f"{found} of {size} objects are listed"

    list_all()  # both find the server's caches filled
    return in_turns({"listing": list_all, "read": lambda: read_checkpoint(reader)}, TURNS)


def report_huge() -> None:
    """Read a checkpoint of four million objects that is nowhere, and print what that took."""
    size = len(LargeCheckpoint(HUGE_PARTITIONS))
    walked = run_child(__name__, "walk", HUGE_PARTITIONS)
    read = run_child(__name__, "read", HUGE_PARTITIONS)
    print(f"Checkpoint that is nowhere: {size:,} objects in {HUGE_PARTITIONS:,} stores; once each")
    for name, found in {"bare walk": walked, "read_checkpoint": read}.items():
        print(
            f"  {name:<16}{found['seconds']:6.1f} s{found['seconds'] / size * 1e6:8.2f} us/object"
            f"{found['peak_mb']:8,.0f} MB peak RSS"
        )


def measure_huge(what: str, partitions: int) -> dict[str, float]:
    """Walk or read a generated checkpoint once."""
    reader = GeneratedReader(LargeCheckpoint(partitions))

    def walk() -> None:
        for _ in reader.walk():
            pass

    action = {"walk": walk, "read": lambda: read_checkpoint(reader)}[what]
    (seconds,) = in_turns({what: action}, 1)[what]
    return {"seconds": seconds, "peak_mb": peak_rss_mb()}


if __name__ == "__main__":
    print(json.dumps(measure_huge(sys.argv[1], int(sys.argv[2]))))
