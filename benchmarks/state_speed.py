"""How long `holdfast state` takes for a large state, and how much memory.

    python -m benchmarks.state_speed [--rows N] [--partitions N]

HDFS-backed state has a snapshot with all rows, then ten deltas that each change one row in a
hundred. RocksDB's has two snapshots with the same data file. Each key is a string and a window,
each value a count. Once without a key, and once with one that a single row has.
"""

from __future__ import annotations

import json
import struct
import sys
import time
import zipfile
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import pyarrow as pa
from xxhash import xxh32_intdigest

from benchmarks.measuring import exit_when_missed, peak_rss_mb, run_child
from benchmarks.sst_files import entry, sst
from holdfast.cli.main import run

MOST_SECONDS, MOST_MB = 10.0, 300.0
NEWEST = 11
_ROWS_OF_BLOCK = 40
_BLOCK = 1 << 15


def _struct(**fields: object) -> dict[str, object]:
    named = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in fields.items()
    ]
    return {"type": "struct", "fields": named}


_WINDOW = _struct(start="timestamp", end="timestamp")
_KEY = json.dumps(_struct(product="string", window=_WINDOW))
_VALUE = json.dumps(_struct(count="long"))


def key_of(number: int) -> bytes:
    """Return the key of a row, as Spark's UnsafeRow."""
    text = f"product-{number:08}".encode()  # 16 bytes
    start = 1_767_225_600_000_000
    inner = struct.pack("<qqq", 0, start, start + 3_600_000_000)
    head = struct.pack("<qII", 0, len(text), 24) + struct.pack("<II", len(inner), 40)
    return head + text + inner


def value_of(count: int) -> bytes:
    """Return the value of a row."""
    return struct.pack("<qq", 0, count)


def pack(rows: list[tuple[bytes, bytes]]) -> bytes:
    """Return a state file of Spark's: rows in blocks of LZ4."""
    pairs = (struct.pack(">i", len(each)) + each for row in rows for each in row)
    raw = b"".join(pairs) + struct.pack(">i", -1)
    blocks = []
    for at in range(0, len(raw), _BLOCK):
        piece = raw[at : at + _BLOCK]
        packed = pa.compress(piece, codec="lz4_raw", asbytes=True)
        checksum = xxh32_intdigest(piece, 0x9747B28C) & 0x0FFFFFFF
        sizes = struct.pack("<iiI", len(packed), len(piece), checksum)
        blocks.append(b"LZ4Block\x26" + sizes + packed)
    return b"".join(blocks)


def make_checkpoint(home: Path, rows: int, partitions: int, *, provider: str) -> None:
    """Write a checkpoint with so many rows of state."""
    for log in ("offsets", "commits"):
        (home / log).mkdir(parents=True)
    conf = {"spark.sql.shuffle.partitions": str(partitions)}
    entry = {"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": conf}
    for batch in range(NEWEST):
        (home / f"offsets/{batch}").write_text(f'v1\n{json.dumps(entry)}\n{{"logOffset":{batch}}}')
        (home / f"commits/{batch}").write_text('v1\n{"nextBatchWatermarkMs":0}')
    (home / "metadata").write_text('{"id":"00000000-0000-0000-0000-000000000000"}')
    for partition in range(partitions):
        place = home / f"state/0/{partition}"
        place.mkdir(parents=True)
        _PROVIDERS[provider](place, range(partition, rows, partitions))
    schema = b"".join(struct.pack(">H", len(each)) + each.encode() for each in ("v1", _KEY, _VALUE))
    (home / "state/0/0/_metadata").mkdir()
    (home / "state/0/0/_metadata/schema").write_bytes(schema)


def _write_hdfs(place: Path, numbers: range) -> None:
    """Write a snapshot and deltas."""
    whole = pack([(key_of(each), value_of(1)) for each in numbers])
    (place / "1.snapshot").write_bytes(whole)
    for version in range(2, NEWEST + 1):
        changes = [(key_of(each), value_of(version)) for each in numbers[version::100]]
        (place / f"{version}.delta").write_bytes(pack(changes))


def _write_rocksdb(place: Path, numbers: range) -> None:
    """Write two snapshots with the same data file."""
    rows = [entry(b"\0" + key_of(each), 7, value=b"\0" + value_of(1)) for each in numbers]
    raw = sst([rows[at : at + _ROWS_OF_BLOCK] for at in range(0, len(rows), _ROWS_OF_BLOCK)])
    (place / "SSTs").mkdir()
    (place / "SSTs/000001-a.sst").write_bytes(raw)
    named = {"localFileName": "000001.sst", "dfsSstFileName": "000001-a.sst"}
    files = [{**named, "sizeBytes": len(raw)}]
    metadata = "v1\n" + json.dumps({"sstFiles": files, "numKeys": len(rows)})
    for version in (NEWEST - 1, NEWEST):
        with zipfile.ZipFile(place / f"{version}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("metadata", metadata)


_PROVIDERS = {"HDFS-backed": _write_hdfs, "RocksDB": _write_rocksdb}


@click.command()
@click.option("--rows", default=1_000_000, show_default=True)
@click.option("--partitions", default=4, show_default=True)
@click.option("--run", "arguments", multiple=True, hidden=True)
def main(*, rows: int, partitions: int, arguments: tuple[str, ...]) -> None:
    """Measure, and exit with 1 if an aim is missed."""
    if arguments:
        _run_once(arguments)
        return
    missed: list[str] = []
    with TemporaryDirectory(prefix="state") as scratch:
        for provider in _PROVIDERS:
            home = Path(scratch) / provider
            make_checkpoint(home, rows, partitions, provider=provider)
            for asked in ((), ("--key", f"product=product-{rows // 2:08}")):
                words = [part for each in ("state", str(home), *asked) for part in ("--run", each)]
                seconds, memory, said = run_child("benchmarks.state_speed", *words)
                name = f"{provider} {'key' if asked else 'all'}"
                click.echo(f"  {name:<16} {seconds:5.1f} s  {memory:5.0f} MB  {said}")
                if seconds > MOST_SECONDS or memory > MOST_MB:
                    missed.append(f"{name}: {MOST_SECONDS:.0f} s and {MOST_MB:.0f} MB")
    exit_when_missed(missed)


def _run_once(arguments: tuple[str, ...]) -> None:
    """Run the command in this process, and print its figures and first line."""
    began, out = time.perf_counter(), StringIO()
    with redirect_stdout(out), suppress(SystemExit):
        run([*arguments])
    seconds = time.perf_counter() - began
    said = out.getvalue().partition("\n")[0]
    sys.stdout.write(json.dumps([seconds, peak_rss_mb(), said]))


if __name__ == "__main__":
    main()
