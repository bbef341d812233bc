"""`hf.Delta` on real Delta: exact across restarts, fenced, and refused when it must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from holdfast import points
from holdfast.formats.delta_log import newest_version, read_commit
from holdfast.ledger import Apply, Reason, Refuse, Skip
from holdfast.sinks.delta.columns import DeltaTableError
from holdfast.sinks.delta.commit import append, append_nothing
from holdfast.storage import open_reader
from tests.ledger_rows import ROW, attempt
from tests.spark.file_stream import remove, wait_until_given_up
from tests.spark.restarts import add_file
from tests.writers import open_writer

pytestmark = pytest.mark.sampled(5)


@dataclass
class Stream:
    """A guarded stream of text files into a Delta table, one file per batch."""

    spark: SparkSession
    home: Path

    @property
    def table(self) -> str:
        return str(self.home / "table")

    @property
    def checkpoint(self) -> Path:
        return self.home / "streams/readings"

    def add(self, *rows: str) -> None:
        files = self.home / "files"
        files.mkdir(exist_ok=True)
        add_file(files, len(list(files.iterdir())), *rows)

    @property
    def source(self) -> DataFrame:
        reader = self.spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        return reader.load(str(self.home / "files"))

    def run(self, df: DataFrame | None = None, **more: Any) -> None:
        given = {"stream": "readings", "into": hf.Delta(path=self.table)}
        root = str(self.home / "streams")
        try:
            query = hf.start(
                df or self.source, root=root, trigger={"availableNow": True}, **{**given, **more}
            )
            query.awaitTermination()
        finally:
            wait_until_given_up()

    def rows(self) -> Counter[Any]:
        return Counter(
            tuple(row) for row in self.spark.read.format("delta").load(self.table).collect()
        )

    def sql(self, statement: str) -> None:
        self.spark.sql(statement.format(table=f"delta.`{self.table}`"))


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    found = Stream(spark.newSession(), tmp_path)
    for row in "abc":
        found.add(row)
    return found


def once(*rows: Any) -> Counter[Any]:
    return Counter(row if isinstance(row, tuple) else (row,) for row in rows)


def test_every_row_arrives_once_across_restarts(stream: Stream) -> None:
    stream.run()
    assert stream.rows() == once("a", "b", "c")
    stream.add("d")
    stream.run()
    assert stream.rows() == once("a", "b", "c", "d")


def test_a_batch_that_arrived_and_was_not_committed_is_skipped(stream: Stream) -> None:
    stream.run()
    remove(stream.checkpoint / "commits/2")
    stream.add("d")
    stream.run()
    assert stream.rows() == once("a", "b", "c", "d")


def merged(stream: Stream) -> hf.Delta:
    return hf.Delta(path=stream.table, keys=["key"], sequence_by="at")


def pairs(stream: Stream) -> DataFrame:
    """Read lines of `key at text`; a key or an order value of `-` is NULL."""
    parts = F.split("value", " ")
    known = [F.when(parts[i] != "-", parts[i]) for i in range(3)]
    return stream.source.select(
        known[0].alias("key"), known[1].cast("long").alias("at"), known[2].alias("text")
    )


def test_the_newest_row_of_a_key_stays(stream: Stream) -> None:
    (stream.home / "files").rename(stream.home / "unused")
    for lines in (["x 5 new", "y 1 a", "z - null"], ["x 4 old", "y 2 b"], ["z 1 c", "x 5 tie"]):
        stream.add(*lines)
    stream.run(pairs(stream), into=merged(stream))
    assert stream.rows() in (
        once(("x", 5, "new"), ("y", 2, "b"), ("z", 1, "c")),
        once(("x", 5, "tie"), ("y", 2, "b"), ("z", 1, "c")),
    )
    before = stream.rows()
    remove(stream.checkpoint / "commits/2")
    stream.add("z - null again", "y 1 older", "w 1 twice", "w 2 once")
    stream.run(pairs(stream), into=merged(stream))
    assert stream.rows() == before + once(("w", 2, "once"))


@pytest.mark.parametrize(
    ("line", "options", "says"),
    [
        ("- 1 a", {"keys": ["key"], "sequence_by": "at"}, "a NULL in its key key"),
        ("x 1 a|x 1 b", {"keys": ["key"]}, "comes twice in one batch"),
    ],
)
def test_rows_that_cannot_be_merged_are_refused(
    stream: Stream, *, line: str, options: dict[str, Any], says: str
) -> None:
    (stream.home / "files").rename(stream.home / "unused")
    stream.add(*line.split("|"))
    with pytest.raises(StreamingQueryException, match=says):
        stream.run(pairs(stream), into=hf.Delta(path=stream.table, **options))
    assert stream.rows() == once()


def test_an_empty_batch_is_committed_too(stream: Stream) -> None:
    stream.run(stream.source.where("value = 'b'"))
    assert stream.rows() == once("b")
    sink = prepared(stream)
    row = sink.ledger.read("readings")
    assert row is not None
    assert (row.last_batch, row.epoch) == (2, 1)


def prepared(stream: Stream) -> Any:
    sink = hf.Delta(path=stream.table)
    empty = stream.spark.createDataFrame([], "value string")
    return open_writer(sink, empty)


def letters(stream: Stream, *rows: str) -> DataFrame:
    return stream.spark.createDataFrame([(row,) for row in rows], "value string")


def test_every_line_of_the_decision_holds(stream: Stream) -> None:
    sink = prepared(stream)
    mine = replace(ROW, sink=sink.name)
    assert sink.ledger.replace(None, mine)
    assert sink.ledger.read("readings") == mine
    first = replace(attempt(0), sink=sink.name)
    assert sink.write(first, letters(stream, "a")) == Apply()
    assert sink.write(first, letters(stream, "a")) == Skip()
    other = replace(first, digest="other")
    assert sink.write(other, letters(stream, "x")) == Refuse(Reason.OTHER_CONTENT)
    later = replace(attempt(5), sink=sink.name)
    assert sink.write(later, letters(stream, "x")) == Refuse(Reason.GAP)
    assert stream.rows() == once("a")


def test_a_driver_that_was_replaced_writes_nothing_more(stream: Stream) -> None:
    old, new = prepared(stream), prepared(stream)
    mine = replace(ROW, sink=old.name)
    assert old.ledger.replace(None, mine)
    fenced = new.ledger.fence(mine, epoch=mine.epoch + 1, nonce="new")
    assert fenced == replace(mine, epoch=mine.epoch + 1, nonce="new")
    first = replace(attempt(0), sink=old.name)
    assert old.write(first, letters(stream, "a")) == Refuse(Reason.EPOCH_FENCED)
    assert old.ledger.fence(mine, epoch=mine.epoch, nonce="again") is None
    assert stream.rows() == once()


def test_one_that_has_decided_and_slept_is_left_out_by_delta(stream: Stream) -> None:
    """Between its look at the ledger and its commit another driver takes over."""
    old, new = prepared(stream), prepared(stream)
    mine = replace(ROW, sink=old.name)
    assert old.ledger.replace(None, mine)

    def take_over(_: int) -> None:
        assert new.ledger.fence(mine, epoch=mine.epoch + 1, nonce="new") is not None

    first = replace(attempt(0), sink=old.name)
    answer = old.write(first, letters(stream, "a"), before_commit=take_over)
    assert answer == Refuse(Reason.EPOCH_FENCED)
    again = replace(first, epoch=mine.epoch + 1, nonce="new")
    assert new.write(again, letters(stream, "a")) == Apply()
    assert stream.rows() == once("a")


def test_a_generation_is_above_every_epoch_of_the_one_before(stream: Stream) -> None:
    """Epochs may begin anew, with a record that was lost: the generation orders above them."""
    old, new = prepared(stream), prepared(stream)
    mine = replace(ROW, sink=old.name, epoch=5)
    assert old.ledger.replace(None, mine)
    theirs = replace(mine, generation=2, epoch=1, nonce="new")
    taken = []

    def take_over(_: int) -> None:
        taken.append(new.ledger.replace(mine, theirs))

    late = replace(attempt(0), sink=old.name, epoch=5)
    answer = old.write(late, letters(stream, "a"), before_commit=take_over)
    assert (taken, answer) == ([True], Refuse(Reason.GENERATION_FENCED))
    first = replace(late, generation=2, epoch=1, nonce="new")
    assert new.write(first, letters(stream, "b")) == Apply()
    assert stream.rows() == once("b")


def test_an_error_after_the_commit_is_recognised(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing_after(commit: Callable[..., None]) -> Callable[..., None]:
        def commit_and_fail(*given: Any) -> None:
            commit(*given)
            letters(stream, "x").select(F.raise_error(F.lit("after the commit"))).collect()

        return commit_and_fail

    sink = prepared(stream)
    monkeypatch.setattr("holdfast.sinks.delta.writer.append", failing_after(append))
    monkeypatch.setattr("holdfast.sinks.delta.ledger.append_nothing", failing_after(append_nothing))
    row = replace(ROW, sink=sink.name)
    assert sink.ledger.replace(None, row), "the fence and the row are there as well"
    for number in range(5):
        this = replace(attempt(number), sink=sink.name)
        assert sink.write(this, letters(stream, str(number))) == Apply()
    assert stream.rows() == once(*map(str, range(5)))


def test_other_writers_are_walked_over(stream: Stream) -> None:
    stream.run()
    stream.sql("INSERT INTO {table} VALUES ('by hand')")
    stream.sql("OPTIMIZE {table}")
    stream.add("d")
    stream.run()
    assert stream.rows() == once("a", "b", "c", "d", "by hand")


HANDS: dict[str, Callable[[Stream], None]] = {
    "restored": lambda s: s.sql("RESTORE TABLE {table} TO VERSION AS OF 3"),
    "emptied": lambda s: s.sql("DELETE FROM {table}"),
    "truncated": lambda s: s.sql("TRUNCATE TABLE {table}"),
    "overwritten": lambda s: s.sql("INSERT OVERWRITE {table} VALUES ('x')"),
}


@pytest.mark.parametrize("hand", HANDS.values(), ids=list(HANDS))
def test_a_table_that_was_replaced_is_refused(
    stream: Stream, hand: Callable[[Stream], None]
) -> None:
    stream.run()
    hand(stream)
    stream.add("d")
    with pytest.raises(hf.StartRefusedError) as refused:
        stream.run()
    assert [finding.code for finding in refused.value.findings] == ["HF608"]
    before = stream.rows()
    stream.run(accept=f"HF608:{refused.value.nonces['HF608']}")
    assert stream.rows() == before + once("d")


def test_a_table_that_is_replaced_while_the_stream_runs_takes_no_more(stream: Stream) -> None:
    """Else the next batch would hide that what was before it is gone."""
    stream.run()
    stream.add("d")
    stream.add("e")

    def restore(point: str) -> None:
        if point == "S7":
            points.listen(None)
            stream.sql("RESTORE TABLE {table} TO VERSION AS OF 3")

    points.listen(restore)
    try:
        with pytest.raises(StreamingQueryException, match="took out what was there"):
            stream.run()
    finally:
        points.listen(None)
    before = stream.rows()
    assert ("e",) not in before
    with pytest.raises(hf.StartRefusedError) as refused:
        stream.run()
    assert [finding.code for finding in refused.value.findings] == ["HF608"]
    stream.run(accept=f"HF608:{refused.value.nonces['HF608']}")
    assert stream.rows() == before + once("e")


def test_a_fence_that_an_older_driver_has_overwritten_is_missed(stream: Stream) -> None:
    """As when it stood still in its commit, on a store that lets it replace another's."""
    stream.run()
    stream.add("d")
    stream.run()
    reader = open_reader(stream.table)
    newest = newest_version(reader) or 0
    log = Path(stream.table, "_delta_log")
    fences = [at for at in range(newest) if '\\"fence\\"' in (log / f"{at:020}.json").read_text()]
    older = (log / f"{newest:020}.json").read_text()  # the same batch, as it would bring it
    (log / f"{fences[-1]:020}.json").write_text(older)
    (log / f".{fences[-1]:020}.json.crc").unlink(missing_ok=True)
    stream.add("e")
    with pytest.raises(hf.StartRefusedError) as refused:
        stream.run()
    assert [finding.code for finding in refused.value.findings] == ["HF608"]
    assert "may be in it twice" in refused.value.findings[0].what


def test_a_native_stream_is_adopted_and_its_writer_fenced(stream: Stream) -> None:
    old = stream.home / "old"

    def run_native() -> None:
        writer = stream.source.writeStream.format("delta").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(old))
        writer.start(stream.table).awaitTermination()

    run_native()
    remove(old / "commits/2")  # in hand, and Delta can tell that it arrived
    stream.add("d")
    stream.run(checkpoint=str(old))
    assert stream.rows() == once("a", "b", "c", "d")
    newest = newest_version(open_reader(stream.table))
    assert newest is not None
    notes = [read_commit(open_reader(stream.table), at) for at in range(newest + 1)]
    assert sum("replaced" in commit.note for commit in notes if commit) == 1
    stream.add("e")
    run_native()  # somebody starts the old program again: Delta leaves it out
    assert stream.rows() == once("a", "b", "c", "d")


SETTINGS = {
    "spark.databricks.delta.write.txnAppId": "x",
    "spark.databricks.delta.write.txnVersion": "3",
    "spark.databricks.delta.v2.enableMode": "STRICT",
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_that_would_lose_batches_are_refused(stream: Stream, setting: str) -> None:
    stream.spark.conf.set(setting, SETTINGS[setting])
    with pytest.raises(DeltaTableError, match=setting):
        stream.run()


def test_a_table_that_does_not_fit_is_refused_with_what_would_mend_it(stream: Stream) -> None:
    stream.run()
    with pytest.raises(DeltaTableError, match=r"ALTER TABLE .* ADD COLUMNS \(size int\)"):
        stream.run(stream.source.withColumn("size", F.length("value")))
    with pytest.raises(DeltaTableError, match="is string; the stream brings int"):
        stream.run(stream.source.select(F.length("value").alias("value")))
    stream.sql(
        "ALTER TABLE {table} SET TBLPROPERTIES"
        " ('delta.setTransactionRetentionDuration' = 'interval 1 days')"
    )
    with pytest.raises(DeltaTableError, match="forget which batches"):
        stream.run()


def test_a_table_of_a_catalog_is_written_by_its_name(stream: Stream) -> None:
    stream.spark.sql("CREATE DATABASE IF NOT EXISTS lake")
    try:
        for expected in (once("a", "b", "c"), once("a", "b", "c", "d")):
            stream.run(into=hf.Delta(table="lake.readings"))
            found = Counter(tuple(row) for row in stream.spark.table("lake.readings").collect())
            assert found == expected
            stream.add("d")
    finally:
        stream.spark.sql("DROP DATABASE lake CASCADE")
