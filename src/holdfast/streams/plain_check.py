"""`hf.check`: whether a plain query can continue on its checkpoint; nothing is started or written.

The query has no record, so no contract tells what its last run was. Its checkpoint tells what its
sources were, its stateful operators with their columns, and its pinned settings. Spark's event log,
where it is given, tells more. What neither tells is *unknown*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast import clock
from holdfast.errors import ConfigError, without_our_frames
from holdfast.evidence.case import Case
from holdfast.evidence.collect import StreamPlaces, collect_stream
from holdfast.evidence.event_log import collect_event_log
from holdfast.evidence.last_run import LastRun, run_in_checkpoint
from holdfast.evidence.logged_run import run_in_log
from holdfast.evidence.query import Query
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT, QueryToStart
from holdfast.evidence.session_settings import UNPINNED
from holdfast.evidence.stream import StreamEvidence
from holdfast.record.generations import ADOPTED, Generation
from holdfast.rules.compatibility import RecordedQuery, StreamCheck
from holdfast.rules.rule import Finding
from holdfast.sinks.session import place_of, reader_of, store_options
from holdfast.spark.plans import WriterOptions
from holdfast.spark.port import port_of, read_writer
from holdfast.storage.location import parse_location
from holdfast.storage.read import Reader
from holdfast.streams.checking import judge_code
from holdfast.streams.plain_sink import LABEL, describe_sink
from holdfast.streams.resolve import check_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

CHECKPOINTS_SETTING = "spark.sql.streaming.checkpointLocation"
_NO_CHECKPOINT = (
    "The query names no checkpoint: Spark makes a temporary one, and every start begins anew. "
    "Set the option checkpointLocation."
)


@without_our_frames
def check(
    writer: DataStreamWriter, *, checkpoint: str | None = None, event_log: str | None = None
) -> StreamCheck:
    """Say whether a query can continue on its checkpoint; nothing is started or written.

    Args:
        writer: The chain of `df.writeStream`, without its `.start()`.
        checkpoint: Where the checkpoint is; by default as the chain or its session says.
        event_log: Where Spark's event logs are: they tell what the last run was.

    Raises:
        ConfigError: It is no such chain.
        LocationError: A location is not one that Holdfast can read.
        ReadError: The store did not let us list the checkpoint.
        UnsupportedSparkError: It is of Spark Connect, or of a version that is not supported.
    """
    try:
        told = read_writer(writer)
    except AttributeError:
        raise ConfigError(
            "hf.check takes df.writeStream with its options and without .start(), not "
            f"{type(writer).__name__}."
        ) from None
    return check_plain(told, table=None, checkpoint=checkpoint, event_log=event_log)


def check_plain(
    told: WriterOptions, *, table: str | None, checkpoint: str | None, event_log: str | None
) -> StreamCheck:
    """Compare a query with its checkpoint, and with what the event log tells of its last run.

    Args:
        told: What the query's chain has set.
        table: The name of the table that it writes to, if it does so by name.
        checkpoint: Where the checkpoint is; None: as the chain or its session says.
        event_log: Where Spark's event logs are; None: nothing is read.
    """
    spark = told.df.sparkSession
    version = check_session(spark)
    sinks = describe_sink(told, table)
    now, state = port_of(spark).describe_query(
        told.df, sinks=(LABEL,), output_mode=told.output_mode, sink_places=sinks
    )
    place = checkpoint or told.checkpoint or _default_place(spark, told.query_name)
    seen = RecordedQuery(
        sources=now.sources,
        operators=now.operators,
        sink=sinks[0].place if sinks else table or told.format,
        output_mode=told.output_mode,
        trigger=told.trigger,
        checkpoint=place,
    )
    name = told.query_name or place or told.format
    refused = port_of(spark).find_refusal(told.df, output_mode=told.output_mode)
    unknown = () if refused is None else (f"Spark refuses the query at every start: {refused}",)
    if place is None:
        return StreamCheck(stream=name, unknown=(*unknown, _NO_CHECKPOINT), query=seen)
    reader = reader_of(spark, place_of(spark, place))
    query = QueryToStart(now=now, before=None, state=state, spark=version, unknown=())
    case, where = _case(spark, reader, query, name=name, event_log=event_log)
    found = judge_code(case, stream=name, unseen=unknown)
    findings = tuple(_told_by(each, where) for each in found.findings)
    return replace(found, findings=findings, query=seen)


def _default_place(spark: SparkSession, name: str | None) -> str | None:
    """Return where Spark puts the checkpoint of a named query that does not say it."""
    root = spark.conf.get(CHECKPOINTS_SETTING, None)
    return None if root is None or name is None else f"{root.rstrip('/')}/{name}"


def _case(
    spark: SparkSession, reader: Reader, query: QueryToStart, *, name: str, event_log: str | None
) -> tuple[Case, str]:
    """Return what the rules judge, and where the last run was read."""
    evidence = _collect(reader, query, name)
    if not evidence.checkpoint.offsets:
        return Case(checkpoint=evidence.checkpoint, stream=evidence, query=query), ""
    last = _last_run(spark, reader, query, evidence=evidence, event_log=event_log)
    told = replace(evidence, sources_before=last.contract.sources)
    query = replace(query, before=last.contract, unknown=last.unknown, is_assumed=last.is_assumed)
    return Case(checkpoint=told.checkpoint, stream=told, query=query), last.where


def _collect(reader: Reader, query: QueryToStart, name: str) -> StreamEvidence:
    """Collect what the checkpoint says, as if it were to be adopted: nothing is written for it."""
    generation = Generation(
        number=1,
        checkpoint=str(reader.location),
        query_id="",
        first_batch=0,
        why=ADOPTED,
        opened_at=clock.now().isoformat(timespec="seconds"),
    )
    return collect_stream(
        StreamPlaces(
            stream=name,
            generation=generation,
            checkpoint=reader,
            ledgers=(),
            query=Query(sources=len(query.now.sources), operators=query.now.operators),
            spark=query.spark,
            sources=query.now.sources,
        )
    )


def _last_run(
    spark: SparkSession,
    reader: Reader,
    query: QueryToStart,
    *,
    evidence: StreamEvidence,
    event_log: str | None,
) -> LastRun:
    by_checkpoint = run_in_checkpoint(reader, evidence.checkpoint, query.now)
    if event_log is None:
        return by_checkpoint
    options = store_options(spark, parse_location(event_log))
    log = collect_event_log(evidence.checkpoint, event_log, options)
    set_here = {name for name in UNPINNED if spark.conf.get(name, None) is not None}
    found = run_in_log(log, query, set_here=set_here, newest_committed=evidence.newest_committed)
    if isinstance(found, str):
        return replace(by_checkpoint, unknown=(found, *by_checkpoint.unknown))
    return found


def _told_by(finding: Finding, where: str) -> Finding:
    """Return a finding that names what stood for the contract."""
    named = (where if each == THE_LAST_CONTRACT else each for each in finding.follows_from)
    return replace(finding, follows_from=tuple(named))
