"""What the last run of a plain query was: from its checkpoint, and from Spark's event log."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from holdfast.checkpoint.read import read_checkpoint
from holdfast.evidence.last_run import LastRun, match_sources, run_in_checkpoint
from holdfast.evidence.logged_run import run_in_log, sink_text
from holdfast.evidence.query_to_start import QueryToStart, find_unknown
from holdfast.evidence.state_columns import PlannedState
from holdfast.formats.event_log.history import EventLogHistory, NotReadLog, QueryRun, RunEnding
from holdfast.formats.event_log.plans import PlanParts
from holdfast.record.contracts import Contract, SinkContract
from holdfast.rules.source_identity import find_swapped
from holdfast.sources.kind import DescribedSource
from holdfast.storage.memory import MemoryStorage

ZONE = "spark.sql.session.timeZone"
FILES = {"path": "/in", "format": "json", "schema": "1"}
NOW = Contract(
    sources=("FileSource[/in]",),
    source_options=(FILES,),
    sinks=("sink",),
    sink_places=(SinkContract(kind="parquet", place="FileSink[/out]", label="sink"),),
    output_mode="update",
    operators=("stateStoreSave",),
    operator_keys=("struct<a:string>",),
    operator_parts=(("sum(x)",),),
    operator_not_null=((),),
    state_provider="",
    spark="4.2.1",
    settings={ZONE: "UTC", "spark.sql.shuffle.partitions": "2"},
    watermarks=("t 10 minutes",),
)
QUERY = QueryToStart(
    now=NOW, before=None, state=(PlannedState(printed="[merge_sum(x)]"),), spark=(4, 2), unknown=()
)
RUN = QueryRun(
    query_id="q",
    run_id="r",
    name=None,
    application="app-1",
    application_id=None,
    spark="4.2.1",
    began_at="2026",
    ending=RunEnding.ENDED,
    last_batch=4,
    begun_batch=4,
    sink="FileSink[file:/out]",
    sources=("FileStreamSource[file:/in]",),
    operators=("stateStoreSave",),
    output_mode="update",
    settings={ZONE: "UTC"},
    has_session_settings=True,
    plan=PlanParts(parts={0: "[merge_sum(x)]"}, watermarks=("t 10 minutes",)),
)


def compare(newest: int = 4, set_here: frozenset[str] = frozenset({ZONE}), **other: Any) -> LastRun:
    log = EventLogHistory(location="/log", query_id="q", runs=(replace(RUN, **other),))
    found = run_in_log(log, QUERY, set_here=set_here, newest_committed=newest)
    assert isinstance(found, LastRun)
    return found


def test_a_run_that_was_the_same_differs_in_nothing() -> None:
    found = compare()
    assert found.unknown == ()
    assert found.contract == msgspec.structs.replace(NOW, operator_not_null=())
    assert found.where == "event log, app-1"


@pytest.mark.parametrize(
    ("other", "field", "value"),
    [
        ({"sink": "DeltaSink[/t]"}, "sink_places", "DeltaSink[/t]"),
        ({"sources": ("FileStreamSource[/b]",)}, "sources", "FileSource[/b]"),
        ({"output_mode": "complete"}, "output_mode", "complete"),
        ({"spark": "3.5.9"}, "spark", "3.5.9"),
        ({"settings": {ZONE: "Asia/Tokyo"}}, "settings", "Asia/Tokyo"),
        ({"plan": replace(RUN.plan, watermarks=())}, "watermarks", "()"),  # type: ignore[type-var]
    ],
)
def test_what_the_log_has_of_the_last_run_stands_in_the_contract(
    other: dict[str, Any], field: str, value: str
) -> None:
    found = compare(**other)
    assert found.unknown == ()
    assert value in str(getattr(found.contract, field))
    assert value not in str(getattr(NOW, field))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"newest": 6}, "The run that made batches 5 to 6 is not in the event log"),
        ({"sources": ("com.acme.Queue@1f",)}, "does not say what source 0 (com.acme.Queue@1f)"),
        ({"output_mode": None}, "does not say the output mode"),
        ({"plan": None}, "does not say the watermarks"),
        ({"plan": PlanParts(parts={0: "[merge_max(x)]"})}, "computes is not the same text"),
        ({"has_session_settings": False}, "does not have the settings of the session"),
        ({"settings": {}}, f"{ZONE} is UTC here and not in the event log"),
        ({"operators": ("dedupe",)}, "operators were dedupe and are stateStoreSave"),
    ],
)
def test_what_the_log_does_not_tell_is_unknown(other: dict[str, Any], said: str) -> None:
    assert any(said in each for each in compare(**other).unknown)


def test_a_setting_that_neither_sets_is_the_same() -> None:
    assert compare(settings={}, set_here=frozenset()).unknown == ()


def test_a_sink_whose_place_spark_does_not_print_is_unknown() -> None:
    topic = SinkContract(kind="kafka", place="KafkaTable", label="sink")
    query = replace(QUERY, now=msgspec.structs.replace(NOW, sink_places=(topic,)))
    text = "org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable@7953a7cf"
    log = EventLogHistory(location="/log", query_id="q", runs=(replace(RUN, sink=text),))
    found = run_in_log(log, query, set_here={ZONE}, newest_committed=4)
    assert isinstance(found, LastRun)
    assert found.unknown == (
        "The sink is KafkaTable in the event log, which does not say its place.",
    )


@pytest.mark.parametrize(
    ("text", "sink"),
    [
        ("org.apache.spark.sql.execution.streaming.ConsoleTable$@7953a7cf", "ConsoleTable"),
        ("NoopTable", "NoopTable"),
        ("ForeachBatchSink", "ForeachBatchSink"),
        ("DeltaSink[s3a://lake//t/]", "DeltaSink[s3://lake/t]"),
    ],
)
def test_a_sink_has_one_text_in_every_run(text: str, sink: str) -> None:
    assert sink_text(text) == sink


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (NotReadLog(location="/log", why="it is away"), "could not be read: it is away."),
        (EventLogHistory(location="/log", query_id="q"), "has no batch of this query."),
    ],
)
def test_a_log_that_tells_nothing_says_why(log: Any, why: str) -> None:
    found = run_in_log(log, QUERY, set_here=set(), newest_committed=4)
    assert isinstance(found, str)
    assert found.endswith(why)


def checkpoint_of(**directories: str) -> MemoryStorage:
    """Return a checkpoint whose sources have read one file each."""
    offsets = "\n".join(['{"logOffset":0}'] * len(directories))
    entry = 'v1\n{{"path":"file://{}/f.json","timestamp":1,"batchId":0}}'
    files = {
        f"sources/{number}/0": entry.format(directory).encode()
        for number, directory in enumerate(directories.values())
    }
    head = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n'
    return MemoryStorage({**files, "offsets/0": f"{head}{offsets}".encode()})


def test_a_checkpoint_tells_the_directories_of_its_sources_in_their_order() -> None:
    other = {**FILES, "path": "/in two"}
    now = msgspec.structs.replace(
        NOW, sources=("FileSource[/in]", "FileSource[/in two]"), source_options=(FILES, other)
    )
    reader = checkpoint_of(first="/in/day=1", second="/in%20two")
    found = run_in_checkpoint(reader, read_checkpoint(reader), now)
    assert find_swapped(found.contract, now) == ()
    assert found.contract.sources == now.sources
    swapped = checkpoint_of(first="/in%20two", second="/in")
    found = run_in_checkpoint(swapped, read_checkpoint(swapped), now)
    assert [number for number, _, _ in find_swapped(found.contract, now)] == [0, 1]
    assert len(found.unknown) == 2  # the sink and settings; what belongs to state


def test_topics_of_a_pattern_are_compared_and_assigned_partitions_are_not() -> None:
    was = [("kafka", DescribedSource(name="kafka a-1,a-2", options={"subscribe": "a-1,a-2"}))]

    def matched(**options: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        name = f"kafka {next(iter(options.values()))}"
        now = msgspec.structs.replace(NOW, sources=(name,), source_options=(options,))
        found = match_sources(now, was, where="the checkpoint")
        return found.names, found.unknown

    assert matched(subscribe="a-2, a-1") == (("kafka a-2, a-1",), ())
    assert matched(subscribe="b") == (("kafka a-1,a-2",), ())
    assert matched(subscribePattern="a-.*") == (("kafka a-.*",), ())
    for options in ({"subscribePattern": "b"}, {"subscribePattern": "("}, {"assign": "{}"}):
        names, unknown = matched(**options)
        assert names == (f"kafka {next(iter(options.values()))}",)
        assert unknown == ("The checkpoint does not say what source 0 (kafka) was reading.",)


def test_another_delta_table_is_unknown_and_another_spelling_is_not() -> None:
    reader = checkpoint_of(first="/in")
    delta = {"path": "/t", "format": "delta", "schema": "1"}
    now = msgspec.structs.replace(NOW, sources=("delta",), source_options=(delta,))

    def said(path: str) -> list[str]:
        before = msgspec.structs.replace(now, source_options=({**delta, "path": path},))
        query = replace(QUERY, now=now, before=before)
        return [each for each in find_unknown(query, read_checkpoint(reader)) if "Delta" in each]

    assert said("file:/t") == []
    assert len(said("/other")) == 1
