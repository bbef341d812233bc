"""Proves from the data that the sinks of streams hold exactly what they must.

What a sink must hold is computed again: the stream's own function, as a batch job over exactly what
the sink's ledger says has arrived. What it holds is read as of the same moment. Nothing is written,
no lease is taken, and the streams may run meanwhile.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError
from holdfast.proof.row_hash import quoted
from holdfast.proof.tables import coordinates, prove_tables
from holdfast.proof.values import Comparison, CounterExample, Fault, TableProof
from holdfast.record.documents import RecordError
from holdfast.redact import redact
from holdfast.sinks.held import BEYOND, Held
from holdfast.sinks.kinds import open_held
from holdfast.sinks.sink import SinkSpec
from holdfast.spark.errors import first_line, spark_errors
from holdfast.streams.batch_form import NoBatchForm
from holdfast.streams.covered import Coverages, Doubt
from holdfast.streams.declared import Declared
from holdfast.streams.own_table import OwnTable
from holdfast.streams.place import find_place
from holdfast.streams.proof_advice import advise, advise_unknown
from holdfast.streams.resolve import check_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("holdfast.proof")


def prove_streams(
    streams: Sequence[Declared],
    spark: SparkSession,
    *,
    root: str | None,
    own: Mapping[str, OwnTable],
    began: str | None = None,
) -> tuple[TableProof, ...]:
    """Compare what the sinks of streams hold with what they must hold.

    Args:
        streams: Those to prove.
        spark: The session, which runs the jobs.
        root: Where checkpoints and records are; by default the session's.
        own: By a stream's name, a table that its own code writes.
        began: Where the streams began to read, for a checkpoint that no longer says it: `earliest`,
            or Kafka offsets as JSON.

    Raises:
        ConfigError: There is no root.
        UnsupportedSparkError: The session cannot run a guarded stream.
    """
    check_session(spark)
    return tuple(
        proof
        for declared in streams
        for proof in _Prover(
            spark, declared, root=root, own=own.get(declared.name), began=began
        ).prove()
    )


@dataclass(frozen=True, slots=True)
class _Prover:
    """Proves one stream."""

    spark: SparkSession
    declared: Declared
    root: str | None
    own: OwnTable | None
    began: str | None

    def prove(self) -> Iterator[TableProof]:
        """Yield the proof of each sink."""
        name = self.declared.name
        try:
            place = find_place(
                self.spark, name, self.root, checkpoint=self.declared.options.get("checkpoint")
            )
        except RecordError as error:
            # Of this stream alone: it was retired, or its record is damaged.
            for sink in self.declared.sinks:
                yield _unproved(name, sink, error.why)
            return
        coverages = Coverages(
            spark=self.spark, declared=self.declared, place=place, began=self.began
        )
        for sink in self.declared.sinks:
            _LOG.info("%s: comparing %s", name, sink.shown)
            proof = _unproved(name, sink, "it was never started under this root")
            if place.is_written_down:
                proof = self._prove(sink, coverages)
            yield proof

    def _prove(self, sink: SinkSpec, coverages: Coverages) -> TableProof:
        name = self.declared.name
        try:
            df = self.declared.build(self.spark)
            opened = open_held(sink, df, stream=name)
            if opened is None:
                return self._prove_own(sink, coverages)
            with opened as held:
                return self._compare(sink, held, coverages)
        except spark_errors() as error:
            return _unproved(name, sink, f"Spark failed: {first_line(error)}")
        except HoldfastError as error:
            return _unproved(name, sink, error.why)

    def _compare(self, sink: SinkSpec, held: Held, coverages: Coverages) -> TableProof:
        if held.row is None:
            return _unproved(self.declared.name, sink, "its ledger has no row of this stream")
        covered = coverages.of(held)
        if isinstance(covered, NoBatchForm):
            proof = _unproved(self.declared.name, sink, covered.reason)
            return replace(proof, next_step=advise_unknown(self.declared.name, covered.reason))
        rows = covered.form.df
        if sink.keys and sink.sequence_by is None and _has_repeated(rows, sink.keys):
            reason = "keys come more than once, and without sequence_by the last batch counts"
            return _unproved(self.declared.name, sink, reason)
        wanted = held.comparable(held.newest(rows))
        keys = tuple(key for key in sink.keys if key in wanted.columns)
        compared = _with_beyond(prove_tables(wanted, held.rows, keys=keys))
        others = _others(compared) if sink.keys else ()
        compared = _without_others(compared) if sink.keys else compared
        proof = TableProof(
            stream=self.declared.name,
            table=sink.shown,
            compared=compared,
            by=keys or coordinates(wanted.columns),
            keys=tuple(sink.keys),
            sequence_by=sink.sequence_by,
            last_batch=held.row.last_batch,
            records=covered.records,
            left_out=others,
            next_step=advise(
                sink, compared, covered, place=coverages.place, end=held.row.end_offsets
            ),
        )
        doubts = (*coverages.doubts(held), *map(Doubt, covered.form.doubts))
        return _doubted(proof, (*doubts, *_ties(proof, held, rows)))

    def _prove_own(self, sink: SinkSpec, coverages: Coverages) -> TableProof:
        """Compare what the user's own code has written, up to the newest commit."""
        name = self.declared.name
        if self.own is None:
            reason = f"{sink.shown} gives no way to read its rows back: give own= for {name}"
            return _unproved(name, sink, reason)
        covered = coverages.until_newest_commit()
        if isinstance(covered, NoBatchForm):
            proof = _unproved(name, sink, covered.reason)
            return replace(proof, next_step=advise_unknown(name, covered.reason))
        wanted = self.own.expected(covered.form.df)
        proof = TableProof(
            stream=name,
            table=sink.shown,
            compared=prove_tables(wanted, self.own.found(self.spark), keys=self.own.keys),
            by=tuple(self.own.keys) or coordinates(wanted.columns),
            records=covered.records,
        )
        return _doubted(proof, tuple(map(Doubt, covered.form.doubts)))


def _unproved(stream: str, sink: SinkSpec, reason: str) -> TableProof:
    return TableProof(stream=stream, table=sink.shown, compared=None, reason=redact(reason))


def _doubted(proof: TableProof, doubts: Sequence[Doubt]) -> TableProof:
    """Return a proof; rows that differ prove nothing where something else explains them all."""
    compared = proof.compared
    faults = {fault for fault in Fault if compared is not None and getattr(compared, fault.value)}
    explaining = [each.sentence for each in doubts if faults and faults <= each.explains]
    if not explaining:
        return proof
    reason = f"rows differ, which can have another cause: {explaining[0]}"
    return replace(proof, reason=reason, next_step="")


def _ties(proof: TableProof, held: Held, rows: Any) -> Iterator[Doubt]:
    """Yield that a sink orders rows by rules of its own, if there are any that it has to order."""
    is_exact = proof.compared is None or proof.compared.exact
    if is_exact or not held.ties or proof.sequence_by is None:
        return
    by = (*proof.keys, proof.sequence_by)
    if _has_repeated(rows.distinct() if _has_order(rows) else rows, by):
        yield Doubt(held.ties, {Fault.ALTERED})


def _has_order(rows: Any) -> bool:
    """Return whether Spark can compare rows, which it cannot if they have a map."""
    return "map<" not in rows.schema.simpleString()


def _has_repeated(rows: Any, keys: Sequence[str]) -> bool:
    counted = rows.groupBy(*map(quoted, keys)).count()
    return bool(counted.where("count > 1").limit(1).collect())


def _with_beyond(compared: Comparison) -> Comparison:
    """Return a comparison whose examples show what the stream's own types cannot hold."""
    return replace(compared, examples=tuple(map(_shown_beyond, compared.examples)))


def _shown_beyond(example: CounterExample) -> CounterExample:
    expected = _without(BEYOND, example.expected)
    found = _without(BEYOND, example.found)
    beyond = None if example.found is None else example.found.get(BEYOND)
    if beyond is not None and found is not None:
        found = {**found, **json.loads(beyond)}
    return replace(example, expected=expected, found=found)


def _without(name: str, row: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return None if row is None else {key: row[key] for key in row if key != name}


def _others(compared: Comparison) -> tuple[str, ...]:
    """Say how many rows of other writers a table has that is merged by keys."""
    count = compared.unexpected
    return (f"{count:,} keys that do not come from the source: other writers",) if count else ()


def _without_others(compared: Comparison) -> Comparison:
    kept = tuple(each for each in compared.examples if each.fault is not Fault.UNEXPECTED)
    return replace(compared, unexpected=0, examples=kept)
