"""Which kind a sink is follows from what lies in its directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.evidence.outputs.files import FileOutput
from holdfast.evidence.outputs.iceberg import IcebergOutput
from holdfast.evidence.outputs.output import NotRead
from holdfast.judgement.outputs import read_output

KINDS = [
    ("_delta_log/00000000000000000000.json", b'{"metaData":{"id":"t"}}', DeltaOutput),
    ("_spark_metadata/0", b"v1", FileOutput),
    ("part-00000-x.snappy.parquet", b"PAR1", FileOutput),
    ("metadata/v1.metadata.json", b"{", NotRead),
    ("notes.md", b"nothing of Spark", NotRead),
]


@pytest.mark.parametrize("sink", KINDS, ids=lambda each: each[0][:24])
def test_a_sink_is_read_as_what_it_is(
    tmp_path: Path,
    sink: tuple[str, bytes, type[DeltaOutput | FileOutput | IcebergOutput | NotRead]],
) -> None:
    name, content, kind = sink
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(content)
    assert isinstance(read_output(str(tmp_path), {}), kind)


def test_what_batch_jobs_wrote_does_not_tell_of_batches(tmp_path: Path) -> None:
    for name in ("_SUCCESS", "part-00000-x.json"):
        (tmp_path / name).touch()
    found = read_output(str(tmp_path), {})
    assert isinstance(found, NotRead)
    assert "df.write" in found.why


def test_a_sink_that_is_not_there_says_so(tmp_path: Path) -> None:
    found = read_output(str(tmp_path / "gone"), {})
    assert isinstance(found, NotRead)
    assert "_delta_log" in found.why


def test_a_location_of_no_store_is_a_value() -> None:
    assert isinstance(read_output("ftp://host/orders", {}), NotRead)
