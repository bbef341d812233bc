from __future__ import annotations

import pytest

from holdfast.checkpoint import read_checkpoint
from holdfast.checkpoint.file_sink import SinkEntry, parse_sink_log, read_sink_log
from holdfast.checkpoint.layout import Kind, parse_name
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.read import read_chunks
from tests.unit.checkpoint.archives import ARCHIVES, open_archive

SINKS = [name for name in ARCHIVES if name.endswith("file-sink")]


@pytest.mark.parametrize("name", SINKS)
def test_the_output_holds_the_batches_that_the_checkpoint_committed(name: str) -> None:
    archive = open_archive(name)
    log = read_sink_log(archive.output)
    assert log is not None
    assert log.newest == max(read_checkpoint(archive.checkpoint).commits)
    assert log.compacts


@pytest.mark.parametrize("name", SINKS)
def test_a_compact_file_holds_the_files_of_every_batch_before_it(name: str) -> None:
    output = open_archive(name).output
    by_kind: dict[Kind, list[str]] = {Kind.ENTRY: [], Kind.COMPACT: []}
    for info in output.walk("_spark_metadata"):
        parsed = parse_name(info.path)
        if parsed.kind not in by_kind or parsed.batch_id is None or parsed.batch_id > 9:
            continue
        for entry in parse_sink_log(info.path, read_chunks(output, info.path)):
            assert isinstance(entry, SinkEntry)
            assert (entry.action, entry.size_bytes > 0) == ("add", True)
            by_kind[parsed.kind].append(entry.path)
    assert by_kind[Kind.COMPACT]
    assert set(by_kind[Kind.ENTRY]) < set(by_kind[Kind.COMPACT])
    assert len(set(by_kind[Kind.COMPACT])) == len(by_kind[Kind.COMPACT])


def test_a_directory_without_a_log_was_written_by_no_file_sink() -> None:
    assert read_sink_log(MemoryStorage({"part-0.parquet": b"PAR1"})) is None
