"""How long the history of one query takes to read from Spark's event log, and how much memory.

    python -m benchmarks.event_log_speed [--megabytes N]...

Logs of three sizes, plain and as Spark 4 packs them (a zstd frame per flush), with a batch in every
100 KB of text: 1 GB has 10,000. The other lines are those that Spark 4.2 wrote for the recorded
stream. Every log is read in a process of its own, by the query's id. Time must grow with the size,
and memory must not.
"""

from __future__ import annotations

import json
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import click
import pyarrow as pa

from benchmarks.measuring import exit_when_missed, run_child
from fixtures.event_logs import TARGET
from holdfast.formats.event_log.read import read_event_log
from lab.scratch import scratch_directory

SIZES = (10, 100, 1_000)
BATCH_BYTES = 100_000
FRAME_BYTES = 20_000
MOST_SECONDS_PER_GB = 30.0
MOST_MEMORY_GROWTH_MB = 60.0
QUERY = "11111111-1111-4111-8111-111111111111"
RUN = "22222222-2222-4222-8222-222222222222"
_LISTENER = "org.apache.spark.sql.streaming.StreamingQueryListener$"


def recorded_lines() -> tuple[list[bytes], list[bytes]]:
    """Return how a real log begins, and the lines of its batches without what tells of a query."""
    with tarfile.open(TARGET) as tar:
        (name,) = (each for each in tar.getnames() if "4.2-failed" in each and "/events_1_" in each)
        file = tar.extractfile(name)
        assert file is not None
        lines = file.read().splitlines()
    first = next(number for number, line in enumerate(lines) if b"QueryStartedEvent" in line)
    return lines[:first], [line for line in lines[first:] if b"StreamingQueryListener" not in line]


def progress(number: int) -> bytes:
    """Return the line of a batch of a topic with 16 partitions."""
    offsets = [
        json.dumps({"orders": {str(each): n * 100 + each for each in range(16)}})
        for n in (number, number + 1)
    ]
    source = {
        "description": "KafkaV2[Subscribe[orders]]",
        "startOffset": offsets[0],
        "endOffset": offsets[1],
        "latestOffset": offsets[1],
        "numInputRows": 1_600,
    }
    told = {
        "id": QUERY,
        "runId": RUN,
        "name": "orders",
        "timestamp": f"2026-01-01T00:00:{number:09d}Z",
        "batchId": number,
        "durationMs": {"addBatch": 700, "triggerExecution": 900, "walCommit": 40},
        "stateOperators": [],
        "sources": [source],
        "sink": {"description": "DeltaSink[s3a://lake/orders]", "numOutputRows": -1},
    }
    return _line({"Event": f"{_LISTENER}QueryProgressEvent", "progress": told})


def _line(event: dict[str, object]) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode()


def make_text(megabytes: int) -> Iterator[bytes]:
    """Yield the lines of a log: in every 100 KB a batch."""
    head, others = recorded_lines()
    ids = {"id": QUERY, "runId": RUN, "name": "orders", "timestamp": "2026-01-01T00:00:00.000Z"}
    yield from (each + b"\n" for each in head)
    yield _line({"Event": f"{_LISTENER}QueryStartedEvent", **ids}) + b"\n"
    at = 0
    for number in range(megabytes * 1_000_000 // BATCH_BYTES):
        left = BATCH_BYTES
        while left > 0:
            line = others[at % len(others)]
            at += 1
            left -= len(line) + 1
            yield line + b"\n"
        yield progress(number) + b"\n"


def write_log(path: Path, megabytes: int, *, packed: bool) -> None:
    """Write a log."""
    with path.open("wb") as file:
        held = b""
        for line in make_text(megabytes):
            held += line
            if len(held) >= FRAME_BYTES:
                file.write(pa.compress(held, "zstd", asbytes=True) if packed else held)
                held = b""
        if held:
            file.write(pa.compress(held, "zstd", asbytes=True) if packed else held)


def measure(location: str) -> None:
    """Read a log in this process and print the figures."""
    before = getrusage(RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    found = read_event_log(location, query_id=QUERY)
    seconds = time.perf_counter() - began
    figures = {
        "seconds": seconds,
        "megabytes": getrusage(RUSAGE_SELF).ru_maxrss / 1024,
        "before": before / 1024,
        "text": found.text_bytes / 1e6,
        "batches": found.batch_count,
        "missing": len(found.missing_batches),
    }
    print(json.dumps(figures))


@click.command(help=__doc__)
@click.option("--megabytes", "sizes", type=int, multiple=True, default=SIZES, show_default=True)
@click.option("--read", hidden=True)
def main(*, sizes: tuple[int, ...], read: str | None) -> None:
    """Write and read logs of every size, and fail if one takes too long or too much."""
    if read is not None:
        measure(read)
        return
    missed: list[str] = []
    for packed in (False, True):
        memory = []
        for size in sizes:
            with scratch_directory() as directory:
                path = directory / f"local-1{'.zstd' if packed else ''}"
                write_log(path, size, packed=packed)
                on_disk = path.stat().st_size / 1e6
                took = run_child("benchmarks.event_log_speed", "--read", directory)
            per_gb = took["seconds"] / took["text"] * 1_000
            memory.append(took["megabytes"])
            print(
                f"{'zstd' if packed else 'plain':5} {took['text']:7,.0f} MB of text, "
                f"{on_disk:7,.1f} MB on disk, {took['batches']:6,} batches: "
                f"{took['seconds']:6.2f} s ({per_gb:4.1f} s per GB), peak "
                f"{took['megabytes']:.0f} MB ({took['before']:.0f} MB before)",
                flush=True,
            )
            if per_gb > MOST_SECONDS_PER_GB and size >= max(sizes):
                missed.append(f"{per_gb:.1f} s per GB")
        if memory[-1] - memory[-2 if len(memory) > 1 else -1] > MOST_MEMORY_GROWTH_MB:
            missed.append(f"the memory grows with the log: {memory} MB")
    exit_when_missed(missed)


if __name__ == "__main__":
    main()
