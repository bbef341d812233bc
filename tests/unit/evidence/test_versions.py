from __future__ import annotations

import pytest

from holdfast.checkpoint import read_checkpoint
from holdfast.evidence.versions import find_readers, find_writers
from holdfast.spark_versions import KNOWN, SparkVersion, parse_version
from holdfast.storage.memory import MemoryStorage
from tests.unit.checkpoint.archives import ARCHIVES, open_archive

SINCE = {
    "aggregation-format-2": (4, 0),
    "aggregation-format-2-zip": (4, 0),
    "transform-with-state": (4, 0),
    "transform-format-2": (4, 0),
    "join-format-2": (4, 0),
    "join-one-store": (4, 1),
    "join-by-time": (4, 2),
    "aggregation-offsets-v2": (4, 2),
    "two-sources-offsets-v2": (4, 2),
    "named-sources": (4, 2),
    "named-sink": (4, 2),
}
"""Cases whose files older versions cannot read."""


def version_of(name: str) -> tuple[int, int]:
    major, minor = name.partition("-")[0].split(".")
    return int(major), int(minor)


@pytest.mark.parametrize("name", ARCHIVES)
def test_the_version_that_wrote_it_is_among_those_that_can_have(name: str) -> None:
    writers = find_writers(read_checkpoint(open_archive(name).checkpoint))
    if name.endswith("continuous"):
        assert writers.versions == ()  # it pins nothing
        return
    assert version_of(name) in writers.versions
    assert len(writers.versions) <= 2
    assert writers.follows_from


@pytest.mark.parametrize("name", ARCHIVES)
def test_the_version_that_wrote_it_can_read_it(name: str) -> None:
    assert version_of(name) in find_readers(read_checkpoint(open_archive(name).checkpoint)).versions


@pytest.mark.parametrize("name", ARCHIVES)
def test_versions_that_do_not_know_a_file_cannot_read_it(name: str) -> None:
    readers = find_readers(read_checkpoint(open_archive(name).checkpoint))
    since = SINCE.get(name.partition("-")[2], KNOWN[0])
    assert readers.versions == tuple(version for version in KNOWN if version >= since)
    assert bool(readers.because) == (since > KNOWN[0])


@pytest.mark.parametrize(("path", "is_needed"), [("offsets/1", False), ("offsets/5", True)])
def test_only_entries_that_a_start_reads_rule_a_version_out(path: str, *, is_needed: bool) -> None:
    files = open_archive("4.2-kafka").checkpoint.files
    newer = MemoryStorage({**files, path: files[path].replace(b"v1", b"v9", 1)})
    assert (find_readers(read_checkpoint(newer)).versions == ()) == is_needed


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("4.2", (4, 2)),
        ("4.2.1", (4, 2)),
        ("4.2.0", (4, 2, 0)),  # it differs from the releases after it
        ("3.5.2-amzn-1", (3, 5)),
        ("4.0.0.dev1", (4, 0)),
        ("3.4.1", None),
        ("four", None),
        ("4", None),
    ],
)
def test_a_version_is_parsed_as_platforms_write_it(text: str, version: SparkVersion | None) -> None:
    assert parse_version(text) == version
