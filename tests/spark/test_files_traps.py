"""What can happen to a directory of files, and what the next batch and the next start say."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.errors import ConfigError
from holdfast.sinks.files import target
from holdfast.sinks.files.failures import FilesLedgerError, FilesRefusedError
from tests.spark.files_streams import FilesStream

pytestmark = pytest.mark.sampled(4)


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> FilesStream:
    found = FilesStream(spark.newSession(), tmp_path)
    found.add("a")
    found.add("b")
    return found


def codes(refused: hf.StartRefusedError) -> list[str]:
    return sorted(finding.code for finding in refused.findings)


def test_each_file_of_input_is_a_batch_that_a_glob_finds(stream: FilesStream) -> None:
    stream.run()
    assert stream.rows() == Counter("ab")
    stream.add("c")
    stream.run()
    assert stream.rows() == Counter("abc")
    assert [each.name for each in sorted(stream.out.iterdir())] == [
        stream.batch(each).name for each in range(3)
    ]
    assert not list((stream.ledger / "staging").iterdir())


def test_an_emptied_directory_refuses_the_start(stream: FilesStream) -> None:
    stream.run()
    shutil.rmtree(stream.out)
    stream.add("c")
    assert codes(stream.refusal())
    stream.out.mkdir()
    assert codes(stream.refusal())


def test_a_batch_deleted_in_the_middle_refuses_the_start(stream: FilesStream) -> None:
    stream.add("c")
    stream.run()
    shutil.rmtree(stream.batch(1))
    assert "batch 1 of generation 1 was deleted" in str(stream.refusal())


def test_old_batches_may_be_deleted(stream: FilesStream) -> None:
    stream.run()
    shutil.rmtree(stream.batch(0))
    stream.add("c")
    stream.run()
    assert stream.rows() == Counter("bc")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda batch: next(batch.glob("*.json")).unlink(), "has lost the file"),
        (
            lambda batch: (batch / "more.json").write_text('{"name": "x"}'),
            "did not write: more.json",
        ),
        (lambda batch: next(batch.glob("*.json")).write_text(""), "has a changed file"),
    ],
)
def test_a_changed_batch_refuses_the_start(stream: FilesStream, change: object, said: str) -> None:
    stream.run()
    assert callable(change)
    change(stream.batch(1))
    assert said in str(stream.refusal())


def test_a_lost_ledger_refuses_the_start(stream: FilesStream) -> None:
    stream.run()
    shutil.rmtree(stream.hidden)
    with pytest.raises(FilesRefusedError, match="is gone"):
        stream.run()
    assert stream.rows() == Counter("ab")


def test_a_damaged_ledger_refuses_the_start(stream: FilesStream) -> None:
    stream.run()
    note = stream.batch(1) / "_holdfast"
    note.rename(stream.home / "note")
    with pytest.raises(FilesLedgerError, match="has no note"):
        stream.run()
    (stream.home / "note").rename(note)
    for each in (stream.ledger / "records").iterdir():
        each.write_text("{}")
    with pytest.raises(FilesLedgerError, match="was changed"):
        stream.run()
    assert stream.rows() == Counter("ab")


def test_a_directory_of_somebody_else_is_refused(stream: FilesStream) -> None:
    (stream.out / "_spark_metadata").mkdir(parents=True)
    with pytest.raises(FilesRefusedError, match="_spark_metadata"):
        stream.run()
    (stream.out / "_spark_metadata").rmdir()
    (stream.out / "day=1").mkdir()
    with pytest.raises(FilesRefusedError, match="day=1"):
        stream.run()


def test_another_format_is_refused(stream: FilesStream) -> None:
    stream.run()
    with pytest.raises(FilesRefusedError, match="writes json there"):
        stream.run(
            stream.read().selectExpr("name", "name AS other"), into=stream.sink(format="csv")
        )
    with pytest.raises(FilesRefusedError, match="writes json there"):
        stream.run(into=stream.sink(format="parquet"), stream="other")


def test_columns_of_another_type_are_refused(stream: FilesStream) -> None:
    stream.run()
    with pytest.raises(FilesRefusedError, match="brings int"):
        stream.run(stream.read().selectExpr("length(name) as name"))
    with pytest.raises(FilesRefusedError, match="the stream has none"):
        stream.run(stream.read().selectExpr("name as other"))


@pytest.mark.parametrize("scheme", ["s3", "s3a", "gs"])
def test_a_bucket_is_refused_by_name(stream: FilesStream, scheme: str) -> None:
    with pytest.raises(ConfigError, match=r"://\. Use hf\.Delta or hf\.Iceberg there") as refused:
        stream.run(into=hf.Files(f"{scheme}://lake/readings"))
    assert "shows one object after the other" in str(refused.value)
    assert not (stream.home / "streams").exists()


def test_two_streams_share_a_directory(stream: FilesStream) -> None:
    stream.run()
    query = hf.start(
        stream.read(),
        stream="other",
        into=stream.sink(),
        root=str(stream.home / "streams"),
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    assert stream.rows() == Counter("aabb")


def test_other_partitions_are_refused(stream: FilesStream) -> None:
    parts = stream.read().selectExpr("name", "length(name) AS day")
    stream.run(parts, into=stream.sink(partition_by=["day"]))
    for name in ("readings", "other"):
        with pytest.raises(FilesRefusedError, match="readings partitions them by day"):
            stream.run(parts, stream=name)


def test_another_stream_brings_no_other_type(stream: FilesStream) -> None:
    stream.run()
    with pytest.raises(FilesRefusedError, match="brings int"):
        stream.run(stream.read().selectExpr("length(name) AS name"), stream="other")
    stream.run(stream.read().selectExpr("name", "length(name) AS more"), stream="other")
    stream.add("c")
    stream.run()
    assert stream.rows() == Counter("aabbc")


def test_a_jvm_that_changes_names_is_refused(
    stream: FilesStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "_ENCODING", "SELECT 'ANSI_X3.4-1968'")
    parts = stream.read().selectExpr("name", "name AS day")
    with pytest.raises(ConfigError, match=r"LC_ALL=C\.UTF-8"):
        stream.run(parts, into=stream.sink(partition_by=["day"]))
    with pytest.raises(ConfigError, match="ANSI"):
        stream.run(into=hf.Files(str(stream.home / "ü"), format="json"))
    stream.run()
    monkeypatch.undo()
    stream.run(parts, into=hf.Files(str(stream.home / "ü"), partition_by=["day"]), stream="other")
    assert stream.rows() == Counter("ab")
