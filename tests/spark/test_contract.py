"""What a guarded start writes down of a query, and what it does when the query has changed."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import holdfast as hf
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import read_checkpoint
from holdfast.checkpoint.state.operators import OperatorMetadata
from holdfast.ids import BatchId
from holdfast.ledger.row import LedgerRow
from holdfast.record.contracts import read_contract
from holdfast.sinks.kinds import sink_of
from holdfast.spark.classic.describe import describe_query
from holdfast.storage import open_reader
from tests.spark.file_stream import Stream
from tests.spark.test_accepting import accept, refused
from tests.spark.test_moved_state import PROVIDER, ROCKSDB


def documents(stream: Stream, kind: str) -> list[Any]:
    there = sorted((stream.root / "_holdfast/readings" / kind).iterdir())
    return [json.loads(path.read_text()) for path in there]


def test_a_run_is_kept_from_its_start_to_its_end(stream: Stream) -> None:
    stream.run()
    stream.add(3)
    stream.run()
    first, second = documents(stream, "runs")
    assert (first["first_batch"], first["last_batch"], first["ended"]) == (0, 2, "finished")
    assert (second["first_batch"], second["last_batch"], second["epoch"]) == (3, 3, 2)
    (contract,) = documents(stream, "contracts")
    assert first["contract"] == second["contract"]
    assert contract["sinks"] == ["readings"]
    assert contract["operators"] == []
    assert contract["sources"] == [f"FileSource[{stream.files}]"]


def test_from_a_record_alone_every_ledger_is_found(stream: Stream, tmp_path: Path) -> None:
    (tmp_path / "dsn").write_text(stream.dsn)
    into = [
        hf.Postgres(f"file:{tmp_path / 'dsn'}", table="public.readings", name="mine"),
        hf.Delta(path=str(tmp_path / "table")),
    ]
    stream.run(into=into)
    (digest,) = [each["contract"] for each in documents(stream, "runs")]
    contract = read_contract(open_reader(str(stream.root / "_holdfast/readings")), digest)
    assert contract is not None
    assert [each.kind for each in contract.sink_places] == ["postgres", "delta"]
    for each in contract.sink_places:
        sink = sink_of(each)
        assert sink is not None
        ledger = sink.open_ledger()
        assert ledger is not None
        row = ledger.read("readings")
        assert isinstance(row, LedgerRow)
        assert (row.last_batch, row.sink) == (2, each.label)
        ledger.close()


def test_a_run_that_fails_says_by_what(stream: Stream) -> None:
    def fail(_: DataFrame, number: int) -> None:
        if number == 1:
            raise ValueError("secret")

    with pytest.raises(StreamingQueryException):
        stream.run(into=hf.ForeachBatch(fail))
    (run,) = documents(stream, "runs")
    assert (run["last_batch"], run["ended"]) == (0, "failed")
    assert "secret" not in json.dumps(run)


def with_operators(stream: Stream) -> dict[str, DataFrame]:
    timed = stream.source.select("value", F.current_timestamp().cast("date").alias("day"))
    marked = timed.withColumn("day", F.col("day").cast("timestamp")).withWatermark("day", "1 day")
    twice = marked.dropDuplicates(["value", "day"])
    return {
        "aggregation": stream.source.groupBy("value").count(),
        "two": twice.groupBy(F.window("day", "2 days")).count(),
        "sessions": marked.groupBy("value", F.session_window("day", "1 hour")).count(),
        "within": marked.dropDuplicatesWithinWatermark(["value"]),
        "join": marked.join(
            marked.select(F.col("value").alias("v"), F.col("day").alias("d")),
            F.expr("value = v AND d >= day AND d <= day"),
        ),
        "limit": stream.source.limit(2),
    }


def transformed(stream: Stream, function: str) -> DataFrame:
    """Return a query with a processor of one's own, which only such a state store can keep."""

    class Keeping(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._seen = handle.getValueState("seen", "n long")

        def handleInputRows(self, _: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002, N802, N803
            self._seen.update((len([*rows]),))
            yield from ()

        def close(self) -> None:
            pass

    stream.spark = stream.spark.newSession()
    stream.spark.conf.set(PROVIDER, ROCKSDB)
    transform = getattr(stream.source.groupBy("value"), function)
    df: DataFrame = transform(Keeping(), "n long", "append", "none")
    return df


@pytest.mark.parametrize("function", ["transformWithState", "transformWithStateInPandas"])
def test_functions_of_ones_own_are_named_as_spark_names_them(
    stream: Stream, tmp_path: Path, function: str
) -> None:
    check_operators(transformed(stream, function), tmp_path / "plain", mode="append")


@pytest.mark.parametrize("name", ["aggregation", "two", "sessions", "within", "join", "limit"])
def test_operators_are_named_as_spark_names_them(stream: Stream, tmp_path: Path, name: str) -> None:
    mode = "update" if name == "aggregation" else "append"
    check_operators(with_operators(stream)[name], tmp_path / "plain", mode=mode)


def check_operators(df: DataFrame, checkpoint: Path, *, mode: str) -> None:
    contract, _ = describe_query(df, sinks=(), output_mode=mode)
    writer = df.writeStream.format("noop").outputMode(mode).trigger(availableNow=True)
    writer.option("checkpointLocation", str(checkpoint)).start().awaitTermination()
    found = read_checkpoint(open_reader(str(checkpoint)))
    assert found.state
    named = {}
    for operator in found.state:
        metadata = operator.metadata[-1]
        assert isinstance(metadata, OperatorMetadata)
        named[metadata.operator_id] = metadata.name
    assert dict(enumerate(contract.operators)) == named
    newest = found.offsets[max(found.offsets)]
    assert len(contract.sources) == len(newest.offsets)  # type: ignore[union-attr]


def test_a_contract_tells_what_can_be_kept_of_the_query(stream: Stream) -> None:
    files = stream.source
    kafka = (
        stream.spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", "127.0.0.1:9")
        .option("subscribe", "sensors")
        .option("kafka.sasl.jaas.config", 'password="hunter2"')
        .load()
    )
    df = kafka.select(F.col("value").cast("string")).union(files).groupBy("value").count()
    contract, _ = describe_query(df, sinks=(), output_mode="update")
    assert contract.spark == stream.spark.version
    schemas = {each["schema"] for each in contract.source_options}
    assert len(schemas) == 2
    kept = [
        {name: value for name, value in each.items() if name != "schema"}
        for each in contract.source_options
    ]
    broker = {"kafka.bootstrap.servers": "127.0.0.1:9", "subscribe": "sensors"}
    assert kept == [
        {**broker, "format": "kafka"},
        {"path": str(stream.files), "maxFilesPerTrigger": "1", "format": "text"},
    ]
    assert contract.operator_keys == ("struct<value:string>",)
    assert contract.settings["spark.sql.shuffle.partitions"] == "2"
    assert "hunter2" not in str(contract)


def test_the_settings_are_those_that_spark_pins(stream: Stream, tmp_path: Path) -> None:
    contract, _ = describe_query(stream.source, sinks=(), output_mode="append")
    stream.run_unguarded(tmp_path / "plain")
    newest = read_checkpoint(open_reader(str(tmp_path / "plain"))).offsets[BatchId(0)]
    assert isinstance(newest, OffsetEntry)
    assert newest.metadata is not None
    pinned = newest.metadata.conf
    assert set(pinned) <= set(contract.settings)
    assert {name: contract.settings[name] for name in pinned} == dict(pinned)


def test_a_query_that_its_checkpoint_cannot_take_is_refused_before_a_batch(stream: Stream) -> None:
    stream.run(into=hf.ForeachBatch(print))
    both = stream.source.union(stream.spark.readStream.text(str(stream.files)))
    stream.add(3)
    with pytest.raises(hf.StartRefusedError) as found:
        hf.start(both, stream="readings", into=hf.ForeachBatch(print), root=str(stream.root))
    assert [finding.code for finding in found.value.findings] == ["HF401"]
    assert "offsets/2 lists 1 source, but the query has 2" in str(found.value)
    assert not (stream.checkpoint / "offsets/3").exists()


def test_what_changed_and_can_go_on_is_said(
    stream: Stream, caplog: pytest.LogCaptureFixture
) -> None:
    stream.run()
    caplog.set_level(logging.INFO, "holdfast")
    stream.run(outputMode="update")
    assert "its output mode changed from append to update" in caplog.text
    assert "readings generation 1 epoch 2 begins batch 3; owner " in caplog.text
    assert "; spark 4.2" in caplog.text


def test_a_function_of_ones_own_is_guarded_and_no_more(
    stream: Stream, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[tuple[int, list[str]]] = []

    def keep(batch: DataFrame, number: int) -> None:
        seen.append((number, [row.value for row in batch.collect()]))

    caplog.set_level(logging.INFO, "holdfast")
    stream.run(into=hf.ForeachBatch(keep))
    assert seen == [(0, ["row 0"]), (1, ["row 1"]), (2, ["row 2"])]
    assert "exactly-once is not claimed for it" in caplog.text
    stream.add(3)
    stream.run(into=hf.ForeachBatch(keep))
    assert seen[3:] == [(3, ["row 3"])]


def test_an_acceptance_of_the_query_leaves_the_ledger_alone(stream: Stream) -> None:
    """The sink may hold a batch that the checkpoint has not committed."""
    stream.run()
    before = documents(stream, "generations")
    both = stream.source.union(stream.spark.readStream.text(str(stream.files)))
    stream.files.joinpath("f900").write_text("row 9\n")
    error = refused(stream, df=both)
    with pytest.raises(StreamingQueryException, match="There are \\[1\\] sources"):
        stream.run(df=both, accept=accept(error, "HF401"))
    assert documents(stream, "generations") == before
    stream.run()
    assert stream.rows() == ["row 0", "row 1", "row 2", "row 9"]
