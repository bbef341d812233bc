"""Whether the code of a pipeline can continue on its checkpoints; nothing is started or written.

It is the first half of a guarded start: resolve and check. No lease is taken, so that it can run
while the stream does, and no ledger is read: what the sinks hold does not depend on the code.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.errors import HoldfastError
from holdfast.evidence.case import Case
from holdfast.evidence.collect import StreamPlaces, collect_stream
from holdfast.evidence.query import Query
from holdfast.evidence.query_to_start import QueryToStart, find_unknown
from holdfast.judgement.judge import judge
from holdfast.record.bounds import MAX_EPOCH
from holdfast.record.contracts import Contract, SinkContract, contract_before
from holdfast.redact import redact
from holdfast.rules import Catalogue, Needs, rules_for
from holdfast.rules.compatibility import StreamCheck
from holdfast.sinks.sink import SinkSpec
from holdfast.spark.errors import spark_errors
from holdfast.spark.port import port_of
from holdfast.streams.declared import Declared, build_one
from holdfast.streams.future_tables import FutureTables
from holdfast.streams.place import Place, find_place
from holdfast.streams.resolve import check_session, check_streaming

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger("holdfast.check")


def check_streams(
    streams: Mapping[str, Declared], spark: SparkSession, *, only: Sequence[str], root: str | None
) -> tuple[StreamCheck, ...]:
    """Compare the code of streams with their records and checkpoints.

    Args:
        streams: All of a pipeline, in the order in which their data flows.
        spark: The session. The functions of the streams are called with it, and no query starts.
        only: Names of those to compare.
        root: Where checkpoints and records are; by default the session's.

    Raises:
        ConfigError: There is no root.
        UnsupportedSparkError: The session cannot run a guarded stream.
    """
    check_session(spark)
    built = dict(_build(streams, spark))
    return tuple(_check(streams[name], built[name], spark, root=root) for name in only)


def check_declared(declared: Declared, df: DataFrame, *, root: str | None) -> StreamCheck:
    """Compare one stream, which is built already, with its record and checkpoint.

    Raises:
        ConfigError: There is no root.
        HoldfastError: Its place cannot be used.
    """
    check_session(df.sparkSession)
    return _check(declared, df, df.sparkSession, root=root)


def _build(streams: Mapping[str, Declared], spark: SparkSession) -> Iterator[tuple[str, Any]]:
    """Yield each stream's DataFrame, or a sentence that says why there is none."""
    future = FutureTables(spark)
    for name, declared in streams.items():
        _LOG.info("%s: calling its function", name)
        try:
            df, reads = build_one(spark, declared, future)
        except spark_errors() as error:
            reason = redact(str(error)).partition("\n")[0]
            yield name, f"The stream could not be built: {reason}"
            continue
        check_streaming(df)
        for sink in declared.sinks:
            future.add(sink.place, df.schema)
        yield name, f"It reads {', '.join(reads)}, which does not exist." if reads else df


def _check(declared: Declared, built: Any, spark: SparkSession, *, root: str | None) -> StreamCheck:
    _LOG.info("%s: comparing its plan with its checkpoint", declared.name)
    place = find_place(spark, declared.name, root, checkpoint=declared.options.get("checkpoint"))
    before = contract_before(place.record, epoch=MAX_EPOCH + 1, generation=place.generation)
    if isinstance(built, str):
        has_run = before is not None
        return StreamCheck(stream=declared.name, unknown=(built,) if has_run else ())
    case, unseen = _case(declared, built, place, before=before)
    return judge_code(case, stream=declared.name, unseen=() if case.newest_planned < 0 else unseen)


def judge_code(case: Case, *, stream: str, unseen: tuple[str, ...]) -> StreamCheck:
    """Judge a query by the rules that compare it with its checkpoint and its last run.

    Args:
        case: With the query.
        stream: Its name.
        unseen: What else could not be compared, one sentence each.
    """
    assert case.query is not None
    of_the_code = tuple(rule for rule in rules_for(case) if rule.needs is Needs.QUERY)
    is_new = case.newest_planned < 0
    return StreamCheck(
        stream=stream,
        findings=judge(case, Catalogue(rules=of_the_code)).findings,
        unknown=(*(() if is_new else find_unknown(case.query, case.checkpoint)), *unseen),
        newest_batch=None if is_new else case.newest_planned,
    )


def _case(
    declared: Declared, df: DataFrame, place: Place, *, before: Contract | None
) -> tuple[Case, tuple[str, ...]]:
    """Return what the rules judge, and the sinks that could not be looked at."""
    mode = declared.options["outputMode"]
    labels, places, unseen = _resolve_sinks(declared, df, before)
    now, state = port_of(df.sparkSession).describe_query(
        df, sinks=labels, output_mode=mode, sink_places=places
    )
    version = check_session(df.sparkSession)
    evidence = collect_stream(
        StreamPlaces(
            stream=declared.name,
            generation=place.generation,
            checkpoint=place.checkpoint,
            ledgers=(),
            query=Query(sources=len(now.sources), operators=now.operators),
            spark=version,
            sources=now.sources,
            sources_before=None if before is None else before.sources or None,
        )
    )
    query = QueryToStart(now=now, before=before, state=state, spark=version)
    root = place.plan_root
    return Case(checkpoint=evidence.checkpoint, stream=evidence, root=root, query=query), unseen


def _resolve_sinks(
    declared: Declared, df: DataFrame, before: Contract | None
) -> tuple[tuple[str, ...], tuple[SinkContract, ...], tuple[str, ...]]:
    """Return labels and contracts of the sinks, and why some could not be reached."""
    mode = declared.options["outputMode"]
    labels, places, unseen = [], [], []
    with ExitStack() as opened:
        for sink in declared.sinks:
            try:
                writer = sink.writer_for(df, stream=declared.name, output_mode=mode)
            except HoldfastError as error:
                labels.append(sink.label)
                unseen.append(f"{sink.display_name} could not be looked at: {error.why}")
                places += _as_before(sink, before)
                continue
            opened.callback(writer.close)
            labels.append(writer.name)
            places += [writer.describe()] if writer.ledger is not None else []
    return tuple(labels), tuple(places), tuple(unseen)


def _as_before(sink: SinkSpec, before: Contract | None) -> list[SinkContract]:
    """Return a sink that could not be reached, with the place that it had in the last run."""
    known = before.sink_places if before is not None else ()
    asked = {"keys": tuple(sink.keys), "sequence_by": sink.sequence_by, "secret": sink.secret}
    return [
        msgspec.structs.replace(each, kind=sink.kind, **asked)
        for each in known
        if each.label == sink.label
    ]
