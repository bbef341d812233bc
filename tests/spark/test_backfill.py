"""A backfill gives the sinks exactly the range, while the stream goes on."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from holdfast.apply.errors import NotAllowedError, StreamRunsError
from holdfast.plan.plan_file import encode_plan
from holdfast.plan.steps import WriteRange
from holdfast.streams.backfill.errors import BackfillRefusedError
from holdfast.streams.backfill.prepare import BackfillProgress
from tests.spark.backfill_gap import Backfilling, Gap, until
from tests.spark.backfill_pipeline import STREAM, pipeline

ONLY_WHOLE = pytest.mark.sampled(1)
"""`HOLDFAST_ALL=1` runs these too."""


def chunks_of(plan: hf.Plan) -> int:
    """Return how many chunks a plan writes in all."""
    (step,) = (each for each in plan.steps if isinstance(each, WriteRange))
    return step.chunks


def test_a_gap_is_filled_while_the_stream_goes_on(gap: Gap) -> None:
    gap.produce(range(40))
    with gap.running():
        gap.produce(range(40, 60))
        gap.wait_for(59)
        assert sum(gap.in_delta().values()) == 20
        told: list[BackfillProgress] = []

        def tell(progress: BackfillProgress) -> None:
            told.append(progress)
            if progress.done == 2:
                gap.produce(range(60, 80))
                gap.wait_for(79)

        backfill = gap.backfill("earliest", gap.offsets(20, 20), chunk=10)
        plan = backfill.planned()
        assert (chunks_of(plan), plan.needs) == (4, ())
        assert plan.impact[0].position == "writes 4 chunks, each exactly once"
        assert not any("can differ" in each for each in plan.impact[0].outputs)
        before = gap.leases()
        done = backfill.run(tell=tell)
        assert gap.leases() == before
        assert [each.done for each in told] == [0, 1, 2, 3, 4]
        assert (done.done, done.read, done.size) == (4, 40, 40)
        gap.produce(range(80, 90))
        gap.wait_for(89)
    assert gap.in_delta() == gap.in_postgres() == Counter(range(90))
    done_already = backfill.plan()
    assert isinstance(done_already, hf.NoPlan)
    assert done_already.is_fine
    assert backfill.run().seconds_per_chunk == 0
    assert gap.in_delta() == gap.in_postgres() == Counter(range(90))
    with gap.running():  # its next start is as usual
        gap.produce(range(90, 100))
        gap.wait_for(99)
    assert gap.in_delta() == gap.in_postgres() == Counter(range(100))


@ONLY_WHOLE
def test_what_the_sinks_hold_or_get_anyway_is_refused(gap: Gap) -> None:
    gap.began(range(20), range(20, 40))
    refused = {
        "the stream itself": gap.backfill("earliest", gap.offsets(11, 10)),
        "in the topic": gap.backfill("earliest", gap.offsets(10, 99)),
    }
    with pytest.raises(NotAllowedError, match="The stream itself writes all from"):
        refused["the stream itself"].run()
    with pytest.raises(BackfillRefusedError, match=r"partition 1 of .* ends at 20, before 99"):
        refused["in the topic"].plan()
    (need,) = refused["the stream itself"].planned().needs
    assert need.word == f"repeats-data:{STREAM}"
    assert gap.in_delta() == gap.in_postgres() == Counter(range(20, 40))
    gap.backfill(gap.offsets(0, 0), gap.offsets(5, 5)).run()
    again = gap.backfill(gap.offsets(4, 5), gap.offsets(10, 10), chunk=3)
    with pytest.raises(NotAllowedError, match=r"-backfill-[0-9a-f]{8} writes a part"):
        again.run()
    assert gap.in_delta() == Counter([*range(10), *range(20, 40)])
    done = again.run(allow=[f"repeats-data:{STREAM}"])
    assert done.chunks == 4
    with pytest.raises(BackfillRefusedError, match="began with 4 chunks"):
        gap.backfill(gap.offsets(4, 5), gap.offsets(10, 10), chunk=1).run()
    expected = Counter([*range(40), 8])  # offset 4 of partition 0, twice as allowed
    assert gap.in_delta() == gap.in_postgres() == expected


@ONLY_WHOLE
def test_expired_records_are_counted_and_need_their_word(gap: Gap) -> None:
    gap.began(range(20), range(20, 40))
    admin = AdminClient({"bootstrap.servers": gap.kafka.address, "log_level": 0})
    for future in admin.delete_records([TopicPartition(gap.topic, 0, 3)]).values():
        future.result()
    backfill = gap.backfill(gap.offsets(0, 0), gap.offsets(10, 10), chunk=5)
    plan = backfill.planned()
    changes = {each.kind: each.amount for each in plan.impact[0].changes if each.amount}
    assert changes == {"reads": 20, "loses": 3}
    assert [need.word for need in plan.needs] == [f"skips-data:{STREAM}"]
    with pytest.raises(NotAllowedError, match="3 offsets of the range have expired"):
        backfill.run(allow=[f"repeats-data:{STREAM}", "skips-data:other"])
    assert gap.in_delta() == Counter(range(20, 40))
    backfill.run(allow=[f"skips-data:{STREAM}"])
    left = set(range(40)) - {0, 2, 4}
    assert gap.in_delta() == gap.in_postgres() == Counter(left)


@ONLY_WHOLE
def test_a_late_older_row_does_not_replace_a_newer_one(gap: Gap) -> None:
    gap.merges = True
    with psycopg.connect(gap.dsn) as connection:
        connection.execute("ALTER TABLE readings ADD PRIMARY KEY (key)")
    gap.produce(range(40))
    with gap.running():
        gap.produce(range(40, 45))
        gap.wait_for(44)
        backfill = gap.backfill("earliest", gap.offsets(21, 21), chunk=8)
        plan = backfill.planned()
        assert plan.needs == ()  # a merge takes what it has again
        assert "a row with a newer number stays" in plan.impact[0].outputs[0]
        backfill.run()
    expected = Counter([*range(40, 45), *range(35, 40)])
    assert gap.in_delta() == gap.in_postgres() == expected


@ONLY_WHOLE
def test_a_plan_file_is_applied(gap: Gap, tmp_path: Path) -> None:
    """Its undo is refused: the stream writes into the same table meanwhile."""
    lake = pipeline({**gap.config, "first": 1})
    code: dict[str, Any] = {"spark": gap.spark, "pipeline": lake}
    gap.produce(range(20))
    query = lake.start(gap.spark)[STREAM]
    until((gap.place / "streams" / STREAM / "sources/0/0").exists)
    gap.produce(range(20, 30))
    until(lambda: gap.in_postgres() == Counter(range(20, 30)))
    asked = {"start": "earliest", "end": gap.offsets(10, 10), "chunk": 5}
    backfill = Backfilling(lake, gap.spark, STREAM, asked)
    file = tmp_path / "plan.json"
    file.write_bytes(encode_plan(backfill.planned()))
    rehearsal = hf.rehearse_plan(hf.read_plan(file), **code)
    assert rehearsal.not_rehearsed == ("4 chunks are written",)
    with pytest.raises(hf.ConfigError, match="--pipeline"):
        hf.apply_plan(hf.read_plan(file))
    assert gap.in_postgres() == Counter(range(20, 30))
    journal = hf.apply_plan(hf.read_plan(file), **code)
    assert gap.in_postgres() == Counter(range(30))
    back = hf.plan_undo(journal, **code)
    assert isinstance(back, hf.NoPlan)
    assert "holds rows of the backfill" in back.reason
    query.stop()
    assert gap.in_postgres() == Counter(range(30))


@ONLY_WHOLE
def test_of_two_runs_at_once_one_writes(gap: Gap) -> None:
    gap.began(range(20), range(20, 30))
    refused: list[BaseException] = []

    def tell(progress: BackfillProgress) -> None:
        if progress.done == 1:
            with pytest.raises(StreamRunsError, match="renewed its lease") as error:
                gap.backfill("earliest", gap.offsets(10, 10)).run()
            refused.append(error.value)

    gap.backfill("earliest", gap.offsets(10, 10), chunk=5).run(tell=tell)
    assert len(refused) == 1
    assert gap.in_delta() == gap.in_postgres() == Counter(range(30))


@ONLY_WHOLE
def test_a_range_of_a_delta_table(spark: SparkSession, tmp_path: Path) -> None:
    source, table = str(tmp_path / "source"), str(tmp_path / "copied")
    lake = hf.Pipeline("lake", root=str(tmp_path / "streams"))

    @lake.stream("copy", into=hf.Delta(path=table), trigger={"availableNow": True})
    def copy(session: Any) -> DataFrame:
        reader = session.readStream.format("delta").option("startingVersion", "4")
        found: DataFrame = reader.load(source).selectExpr("id * 2 AS id")
        return found

    for number in range(6):
        spark.range(number, number + 1).write.format("delta").mode("append").save(source)
    lake.start(spark)["copy"].awaitTermination()

    def rows() -> Counter[int]:
        return Counter(row.id for row in spark.read.format("delta").load(table).collect())

    assert rows() == Counter([8, 10])
    assert Backfilling(lake, spark, "copy", {"start": 0, "end": 5}).planned().needs
    backfill = Backfilling(lake, spark, "copy", {"start": "earliest", "end": 4, "chunk": 1})
    plan = backfill.planned()
    assert (chunks_of(plan), plan.needs, plan.impact[0].changes[0].unit) == (4, (), "versions")
    backfill.run()
    assert rows() == Counter(number * 2 for number in range(6))


@ONLY_WHOLE
def test_entries_of_a_file_log(spark: SparkSession, tmp_path: Path) -> None:
    """The stream has read all of them, so a sink that appends gets them twice, as allowed."""
    source, table = tmp_path / "in", str(tmp_path / "copied")
    source.mkdir()
    lake = hf.Pipeline("lake", root=str(tmp_path / "streams"))

    @lake.stream("copy", into=hf.Delta(path=table), trigger={"availableNow": True})
    def copy(session: Any) -> DataFrame:
        reader = session.readStream.format("text").option("maxFilesPerTrigger", 1)
        found: DataFrame = reader.load(str(source))
        return found

    for number in range(4):
        (source / f"{number}.txt").write_text(f"{number}\n")
        os.utime(source / f"{number}.txt", (number, number))  # Spark reads the oldest first
    lake.start(spark)["copy"].awaitTermination()
    backfill = Backfilling(lake, spark, "copy", {"start": 1, "end": 3, "chunk": 1})
    with pytest.raises(NotAllowedError, match="--allow repeats-data:copy"):
        backfill.run()
    assert backfill.run(allow=["repeats-data:copy"]).chunks == 2
    assert backfill.run().done == 2  # it is there already: nothing to allow
    rows = spark.read.format("delta").load(table).collect()
    assert Counter(row.value for row in rows) == Counter([*"0123", *"12"])


@ONLY_WHOLE
def test_what_has_no_batch_form_or_no_order_is_refused(
    gap: Gap, spark: SparkSession, tmp_path: Path
) -> None:
    lake = hf.Pipeline("lake", root=str(tmp_path / "streams"))
    keyed = hf.Delta(path=str(tmp_path / "keyed"), keys=["key"])
    counted = hf.Delta(path=str(tmp_path / "counted"), keys=["key"], sequence_by="count")
    stream = pipeline(gap.config).streams[STREAM]
    lake.stream("unordered", into=keyed)(stream.build)
    lake.stream("counts", into=counted, outputMode="update")(
        lambda session: stream.build(session).groupBy("key").count()
    )
    lake.stream("never-ran", into=hf.Delta(path=str(tmp_path / "t")))(stream.build)
    for name, why in (
        ("unordered", "without sequence_by: an older row"),
        ("counts", r"It keeps state \(an aggregation\)"),
        ("never-ran", "has no record"),
    ):
        with pytest.raises(BackfillRefusedError, match=why):
            Backfilling(lake, spark, name, {"start": "earliest", "end": gap.offsets(1, 1)}).plan()
    with pytest.raises(hf.ConfigError, match="has no stream"):
        hf.plan_backfill(lake, spark, "other", start=0, end=1)
    assert not (tmp_path / "streams").exists()
