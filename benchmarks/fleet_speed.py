"""How fast `holdfast fleet scan` is, what it costs, and whether it finds every planted fault.

    python -m benchmarks.fleet_speed [--quick] [--no-s3]

Lakes of 100, 1,000 and 10,000 checkpoints on disk, every tenth broken in one of 8 ways, are scanned
in processes of their own; then again after 1 % of the checkpoints got a new batch. Among the
largest are one with 22,000 objects, one with a file source log of 2 million rows, one that cannot
be read, and one that is written during the scan. Then 2,000 on the lab's S3 server, which runs on
the same cores. The figures are of one run each; CPU is that of the scanning process.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import click
import obstore

from benchmarks.fleet_lake import Planted, files_of, plant, verdict_of
from benchmarks.large_checkpoint import LargeCheckpoint
from benchmarks.measuring import exit_when_missed, peak_rss_mb, run_child
from holdfast.fleet.files import file_for, read_rows, write_rows
from holdfast.fleet.request import FleetRequest
from holdfast.fleet.rows import FleetRow
from holdfast.fleet.scan import FleetScanner
from lab import S3
from lab.s3 import ACCESS_KEY, BUCKET, REGION, SECRET_KEY
from lab.scratch import scratch_directory

SIZES, QUICK_SIZES = (100, 1_000, 10_000), (100, 500)
ON_S3, QUICK_ON_S3 = 2_000, 200
MOST_SECONDS, MOST_MB, MOST_REQUESTS = 300.0, 200.0, 12
LOG_ROWS = 2_000_000
_ROW = b'{"path":"s3a://lake/in/part-00000-0f5a9f3e-6f0c-4a4e-9a41-00000000.parquet","timestamp":1795003646183,"batchId":11}\n'
_UPLOADERS = 32
_BATCHES_KEPT = 100


class Scanned(NamedTuple):
    """What one scan took."""

    seconds: float
    cpu_s: float
    peak_mb: float
    requests: int
    most_requests: int
    wrong: list[str]

    def show(self, checkpoints: int) -> str:
        """Return its figures as a line of the table."""
        each = self.requests / checkpoints
        return (
            f"{checkpoints:>8,}{self.seconds:>9.1f}{self.cpu_s:>9.1f}{each:>10.2f}"
            f"{self.most_requests:>6}{self.cpu_s / self.requests * 1e3:>10.2f}{self.peak_mb:>8.0f}"
        )


@click.command()
@click.option("--quick", is_flag=True, help="Small lakes.")
@click.option("--no-s3", is_flag=True, help="On disk only.")
def main(*, quick: bool, no_s3: bool) -> None:
    """Scan every lake, and fail if a fault was missed or a limit exceeded."""
    print("checkpoints  seconds  CPU s  requests each  most  CPU ms/request  MB")
    missed: list[str] = []
    for size in QUICK_SIZES if quick else SIZES:
        with scratch_directory() as directory:
            missed += _on_disk(directory, size, with_outliers=size == max(SIZES))
    if not no_s3:
        missed += _on_s3(QUICK_ON_S3 if quick else ON_S3)
    exit_when_missed(missed)


def _on_disk(directory: Path, size: int, *, with_outliers: bool) -> list[str]:
    lake, first, second = (directory / name for name in ("lake", "1.jsonl", "2.jsonl"))
    lake.mkdir()
    for planted in plant(size):
        for path, raw in planted.files:
            _write(lake / path, raw)
    if with_outliers:
        _add_outliers(lake)
    with _Writer(lake / "team-00/being-written", begins=with_outliers):
        found = _scan(str(lake), str(first), "", size)
    print(f"{found.show(size)}  disk")
    _add_batches(lake, size)
    again = _scan(str(lake), str(second), str(first), 0)
    print(f"{again.show(size)}  disk, 1 % changed since")
    missed = [*_missed(found, size), *(f"{each} on disk" for each in found.wrong)]
    return [*missed, *_show_outliers(first)] if with_outliers else missed


def _missed(found: Scanned, size: int) -> list[str]:
    missed = []
    if found.seconds > MOST_SECONDS:
        missed.append(f"{size:,} took {found.seconds:.0f} s")
    if found.peak_mb > MOST_MB:
        missed.append(f"{size:,} held {found.peak_mb:.0f} MB")
    if found.most_requests > MOST_REQUESTS:
        missed.append(f"one cost {found.most_requests} requests")
    return missed


def _add_batches(lake: Path, size: int) -> None:
    """Add a batch to one checkpoint in a hundred."""
    for planted in islice(plant(size), 0, None, 100):
        for log in ("offsets", "commits"):
            place = lake / planted.path / log
            newest = max(place.iterdir(), key=lambda each: int(each.name))
            (place / f"{int(newest.name) + 1}").write_bytes(newest.read_bytes())


def _add_outliers(lake: Path) -> None:
    """Add a checkpoint with 22,000 objects, one with a long log, and one that cannot be read."""
    team = lake / "team-07"
    sources = (each for each in files_of("4.2-aggregation").items() if each[0].startswith("sou"))
    for path, raw in (*LargeCheckpoint(200).files(), *sources):
        _write(team / "22000-objects" / path, raw)
    for path, raw in files_of("4.2-file-source").items():
        if not path.endswith(".compact"):
            _write(team / "long-log" / path, raw)
    log = team / "long-log/sources/0/9.compact"
    with log.open("wb") as file:
        file.write(b"v1\n")
        for _ in range(LOG_ROWS // 1_000):
            file.write(_ROW * 1_000)
    for path, raw in files_of("4.2-kafka").items():
        if path != "metadata":
            _write(team / "not-readable" / path, raw)
    os.mkfifo(team / "not-readable/metadata")


def _write(path: Path, raw: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)


class _Writer:
    """Writes batches into a checkpoint until the end, as a running query does."""

    def __init__(self, place: Path, *, begins: bool) -> None:
        self._place, self._begins = place, begins
        self._done = threading.Event()
        self._writer = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> None:
        if self._begins:
            for path, raw in files_of("4.2-kafka").items():
                _write(self._place / path, raw)
            self._writer.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._begins:
            self._writer.join()

    def _write(self) -> None:
        files, batch = files_of("4.2-kafka"), 6
        while not self._done.wait(0.005):
            batch += 1
            _write(self._place / f"offsets/{batch}", files["offsets/6"])
            _write(self._place / f"commits/{batch}", files["commits/6"])
            for log in ("offsets", "commits"):
                (self._place / log / f"{batch - _BATCHES_KEPT}").unlink(missing_ok=True)


def _show_outliers(scan: Path) -> list[str]:
    """Print what the scan says of the outliers; return which it has not."""
    names = ("22000-objects", "long-log", "not-readable", "being-written")
    found = {row.path.rpartition("/")[2]: row for row in read_rows(str(scan))}
    for name in names:
        if name in found:
            row = found[name]
            said = "; ".join(row.not_read) or row.unread or "everything was read"
            print(f"  {name}: {row.verdict}, so far {row.so_far}, {row.requests} requests: {said}")
    return [f"{name} has no row" for name in names if name not in found]


def _on_s3(size: int) -> list[str]:
    with scratch_directory() as directory, S3() as s3:
        store = s3.store()
        files = ((path, raw) for planted in plant(size) for path, raw in planted.files)
        with ThreadPoolExecutor(_UPLOADERS) as pool:
            for _ in pool.map(lambda file: obstore.put(store, f"fleet/{file[0]}", file[1]), files):
                pass
        first, second = str(directory / "1.jsonl"), str(directory / "2.jsonl")
        place = f"s3://{BUCKET}/fleet"
        found = _scan(place, first, "", size, s3.address)
        print(f"{found.show(size)}  S3")
        again = _scan(place, second, first, 0, s3.address)
        print(f"{again.show(size)}  S3, nothing changed since")
    return [f"{each} on S3" for each in found.wrong]


def _scan(*arguments: object) -> Scanned:
    return Scanned(**run_child("benchmarks.fleet_speed", "scan", *arguments))


def _scan_here(arguments: list[str]) -> None:
    """Scan in this process, and print what it took and which rows are wrong."""
    place, to, since, size, endpoint, *_ = [*arguments, ""]
    options = {}
    if endpoint:
        options = {"endpoint": endpoint, "region": REGION, "access_key_id": ACCESS_KEY}
        options["secret_access_key"] = SECRET_KEY
    earlier = {row.location: row for row in read_rows(since)} if since else {}
    scanner = FleetScanner(FleetRequest(locations=(place,), options=options), earlier=earlier)
    began, cpu = time.perf_counter(), _cpu()
    kinds = {each.path: each for each in plant(int(size))}
    wrong, requests, most = [], 0, 0
    for row in write_rows(file_for(to), scanner.run()):
        requests += row.requests
        most = max(most, row.requests)
        planted = kinds.pop(row.path, None)
        if planted is not None and (why := _why_wrong(planted, row)):
            wrong.append(why)
    wrong += [f"{path} has no row" for path in kinds]
    took = Scanned(
        seconds=time.perf_counter() - began,
        cpu_s=_cpu() - cpu,
        peak_mb=peak_rss_mb(),
        requests=requests + scanner.walk.directories,
        most_requests=most,
        wrong=wrong[:5],
    )
    print(json.dumps(took._asdict()))


def _why_wrong(planted: Planted, row: FleetRow) -> str | None:
    expected = verdict_of(planted.kind)
    if (row.so_far or row.verdict) is expected:
        return None
    return f"{row.path} ({planted.kind}) is {row.verdict.value}, not {expected.value}"


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    if sys.argv[1:2] == ["scan"]:
        _scan_here(sys.argv[2:])
    else:
        main()
