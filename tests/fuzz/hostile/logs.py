"""Logs and descriptions that are made to exhaust or mislead whoever parses them."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

from tests.fuzz.hostile.case import COMMIT, Files, Hostile, entry, healthy, heavy

PARTITIONS = "spark.sql.shuffle.partitions"
LONGEST = 2**63 - 1
MB = 1 << 20
NESTED = "[" * 10_000 + "]" * 10_000
DIGITS = "9" * 5_000


def _case(name: str, files: Files, *names: str, archive: str = "4.2-aggregation") -> Hostile:
    return Hostile(name=f"log: {name}", make=lambda: healthy(archive, files), names=names)


def _steering(name: str, raw: bytes) -> Hostile:
    """Return a case of an offset entry with what steers a terminal, which must be shown as text."""
    case = _case(f"what steers a terminal in {name}", {"offsets/5": raw})
    return replace(case, shows=("\\x1b[2J",))


def _alone(name: str, files: Files, *names: str) -> Hostile:
    """Return a case of a checkpoint with nothing but these files."""
    return Hostile(
        name=f"log: {name}", make=lambda: {"metadata": b'{"id":"a"}', **files}, names=names
    )


def _large(name: str, path: str, content: tuple[bytes, bytes], *names: str) -> Hostile:
    """Return a case with a file of 100 MB: how it begins, and what is repeated then."""
    begin, unit = content

    def make() -> Files:
        raw = begin + unit * (100 * MB // len(unit))
        return {"metadata": b'{"id":"a"}', "offsets/0": entry("1"), path: raw}

    return Hostile(name=f"log: 100 MB {name}", make=make, names=names, heavy=True)


def _sparse(name: str, path: str, size_bytes: int, *names: str) -> Hostile:
    """Return a case with a file that has a size and nothing on disk."""

    def finish(directory: Path) -> None:
        with (directory / path).open("r+b") as file:
            file.truncate(size_bytes)

    files = {"metadata": b'{"id":"a"}', "offsets/0": entry("1"), path: b""}
    return Hostile(name=f"log: {name}", make=lambda: files, finish=finish, names=names, heavy=True)


def _pinned(partitions: str) -> Files:
    line = json.dumps({"batchTimestampMs": 1, "conf": {PARTITIONS: partitions}})
    return {f"offsets/{batch}": entry('{"logOffset":5}', line=line) for batch in (4, 5)}


def _numbers(value: str) -> Files:
    """Return a pending batch whose every number is this one."""
    line = f'{{"batchWatermarkMs":{value},"batchTimestampMs":{value},"conf":{{}}}}'
    offsets = [
        value,
        f'{{"logOffset":{value}}}',
        f'{{"offset":{value},"timestamp":{value}}}',
        f'{{"reservoirId":"t","reservoirVersion":{value},"index":{value}}}',
        f'{{"topic":{{"0":{value},"1":{value}}}}}',
    ]
    return {
        "offsets/0": entry(*(each.replace(value, f"-{value}") for each in offsets), line=line),
        "offsets/1": entry(*offsets, line=line),
        "commits/0": f'v1\n{{"nextBatchWatermarkMs":{value}}}'.encode(),
        **{f"sources/{place}/0": b"v1\n{}" for place in range(5)},
    }


def _kafka(value: str) -> Files:
    """Return a pending batch of Kafka whose offsets are as far apart as they can be."""
    text = f'{{"t":{{"0":{value},"1":{value}}}}}'
    first = text.replace(value, f"-{value}")
    return {"offsets/0": entry(first), "commits/0": COMMIT, "offsets/1": entry(text)}


def _commit_ids(found: object) -> Files:
    raw = b"v2\n" + json.dumps({"stateUniqueIds": found}).encode()
    return {f"commits/{batch}": raw for batch in range(6)}


def _operator(**changed: object) -> Files:
    store = {"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 2, **changed}
    info = {"operatorId": 0, "operatorName": "\x1b]0;owned\x07"}
    body = json.dumps({"operatorInfo": info, "stateStoreInfo": [store]})
    return {"state/0/_metadata/metadata": f"v1\n{body}".encode(), "offsets/5": entry("1")}


def _sidecar(size: int, count: int) -> bytes:
    return b"crc\0" + struct.pack(">i", size) + bytes(4 * count)


STEERING = "\\u001b[2J\\u0007\\u009b31m\\u202e\\r\\n"
SOURCES = [
    f'{{"{STEERING}":{{"0":1}}}}',
    f'{{"reservoirId":"{STEERING}","reservoirVersion":1,"index":1}}',
    "\x1b[2J\x9b31m",
]
FORMAT_2 = "4.2-aggregation-format-2"

CASES = (
    _case("an offset of 10,000 brackets", {"offsets/5": entry(NESTED)}),
    _case("settings of 10,000 brackets", {"offsets/5": entry("1", line=NESTED)}, "offsets/5"),
    _case("a commit of 10,000 brackets", {"commits/5": f"v1\n{NESTED}".encode()}, "commits/5"),
    _case("an id of 10,000 brackets", {"metadata": NESTED.encode()}, "metadata"),
    _case(
        "an operator of 10,000 brackets",
        {"state/0/_metadata/metadata": f"v1\n{NESTED}".encode()},
        "state/0/_metadata/metadata",
    ),
    _case("900 brackets", {"offsets/5": entry("[" * 900 + "]" * 900)}),
    _large("in one line", "offsets/1", (b"v1\n{}\n", b"x")),
    _large("in the first line", "offsets/1", (b"", b"v"), "offsets/1"),
    _large("of line ends", "offsets/1", (b"v1\n{}", b"\n"), "offsets/1"),
    _large("of zeros", "commits/0", (b"", b"\0"), "commits/0"),
    _large("of a file log without a line end", "sources/0/0", (b"v1\n", b"x")),
    _large("of file log lines", "sources/0/0.compact", (b"v1\n", b'{"path":"p"}\n')),
    _sparse("an entry of 300 MB", "offsets/1", 300 * MB, "offsets/1"),
    _sparse("an id of 1 TB", "metadata", 1 << 40, "metadata"),
    _sparse("a file log of 1 TB", "sources/0/3", 1 << 40),
    _case("zeros in an entry", {"offsets/5": entry("\0" * 100, '{"\0":1}')}),
    _case("half a character", {"offsets/5": entry("\ud800")}, "offsets/5"),
    _case("half a character in JSON", {"metadata": b'{"id":"\\ud800"}'}),
    _case("half a character in an offset", {"offsets/5": entry('{"\\udfff":{"0":1}}')}),
    _steering("offsets", entry(*SOURCES)),
    _steering("names of sources", b'v2\n{"conf":{"\\u001b":"\\u001b"}}\n\x1b[2J:1\n\xc2\x9b:2'),
    _alone("partitions of Kafka of 4,300 digits", _kafka("9" * 4_300)),
    _case("what steers a terminal as an id", {"metadata": f'{{"id":"{STEERING}"}}'.encode()}),
    _case("10 thousand billion partitions", _pinned("999999999999")),
    _case("a billion partitions", _pinned("999999999")),
    heavy(_case("a million partitions", _pinned("1000000"), "state/0/1001")),
    _case("partitions below none", _pinned("-5")),
    _case("partitions in other digits", _pinned("٣")),
    _case("partitions of 5,000 digits", _pinned(DIGITS)),
    _case("the last batch there can be", {f"offsets/{LONGEST}": entry("1"), "commits/0": COMMIT}),
    _case("the last commit there can be", {f"commits/{LONGEST}": COMMIT}),
    _alone(
        "the last batch alone, done",
        {
            f"{log}/{LONGEST - back}": raw
            for back in (0, 1)
            for log, raw in (("offsets", entry("1")), ("commits", COMMIT))
        },
    ),
    _alone("the largest numbers", _numbers(str(LONGEST))),
    _alone("numbers beyond Java's", _numbers("9" * 19)),
    _alone("numbers of 400 digits", _numbers("9" * 400)),
    _alone("numbers of 4,300 digits", _numbers("9" * 4_300)),
    _alone("numbers of 5,000 digits", _numbers(DIGITS)),
    _alone("numbers with exponents", _numbers("1e999")),
    _alone(
        "a log entry of 9 quintillion",
        {
            "offsets/0": entry('{"logOffset":9000000000000000000}'),
            "sources/0/0": b"v1\n{}",
        },
    ),
    _alone(
        "a log as far as it can go",
        {
            "offsets/0": entry('{"logOffset":1}'),
            f"sources/0/{LONGEST}.compact": b"v1",
            f"sources/0/{LONGEST}": b"v1",
        },
    ),
    _alone(
        "logs that only a number parts",
        {
            "offsets/0": entry('{"logOffset":-9223372036854775808}'),
            "commits/0": COMMIT,
            "offsets/1": entry('{"logOffset":9223372036854775807}'),
            "sources/0/1": b"v1",
            "sources/0/0": b"v1",
        },
    ),
    _case("ids of nobody", _commit_ids({"0": [["../../../outside/canary"]] * 2}), archive=FORMAT_2),
    heavy(_case("300,000 ids", _commit_ids({"0": [["x"]] * 50_000}), archive=FORMAT_2)),
    _case("no ids", _commit_ids({"0": [[], []]}), archive=FORMAT_2),
    _case("ids of no partition", _commit_ids({"0": []}), archive=FORMAT_2),
    _case("ids that are numbers", _commit_ids({"0": [[1]]}), "commits/5", archive=FORMAT_2),
    _case("ids that are a text", _commit_ids("x" * MB), "commits/5", archive=FORMAT_2),
    _case("ids with escapes", _commit_ids({"0": [["\x1b[2J"]] * 2}), archive=FORMAT_2),
    _case("a sink with escapes", {"commits/5": b'v3\n{"sinkMetadataMap":{"\\u001b":{}}}'}),
    _case("partitions of an operator below none", _operator(numPartitions=-(10**18))),
    heavy(_case("partitions of an operator beyond all", _operator(numPartitions=10**300))),
    _case("a schema elsewhere", _operator(stateSchemaFilePaths=["/outside/canary"])),
    _alone(
        "checksums of every byte",
        {
            "offsets/0": entry("x" * (20 * MB)),
            "offsets/.0.crc": _sidecar(1, 3),
        },
    ),
    _alone(
        "20 million checksums",
        {"offsets/0": entry("1"), "offsets/.0.crc": _sidecar(1, 20 * MB)},
        "offsets/.0.crc",
    ),
    _alone(
        "checksums of nothing",
        {"offsets/0": entry("1"), "offsets/.0.crc": _sidecar(0, 1)},
        "offsets/.0.crc",
    ),
)
