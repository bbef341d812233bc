"""Proves from the data that the sinks of streams hold exactly what they must.

What a sink must hold is computed again: the stream's own function, as a batch job over exactly what
the sink's ledger says has arrived. What it holds is read as of the same moment. Nothing is written,
no lease is taken, and the streams may run meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError
from holdfast.proof.row_hash import quoted
from holdfast.proof.tables import coordinates, prove_tables
from holdfast.proof.values import Comparison, Fault, TableProof
from holdfast.redact import redact
from holdfast.sinks.held import Held
from holdfast.sinks.kinds import open_held
from holdfast.sinks.sink import SinkSpec
from holdfast.spark.errors import first_line, spark_errors
from holdfast.streams.batch_form import NoBatchForm
from holdfast.streams.covered import Coverages, Doubt
from holdfast.streams.declared import Declared
from holdfast.streams.own_table import OwnTable
from holdfast.streams.place import find_place
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
) -> tuple[TableProof, ...]:
    """Compare what the sinks of streams hold with what they must hold.

    Args:
        streams: Those to prove.
        spark: The session, which runs the jobs.
        root: Where checkpoints and records are; by default the session's.
        own: By a stream's name, a table that its own code writes.

    Raises:
        ConfigError: There is no root.
        UnsupportedSparkError: The session cannot run a guarded stream.
    """
    check_session(spark)
    return tuple(
        proof
        for declared in streams
        for proof in _Prover(spark, declared, root=root, own=own.get(declared.name)).prove()
    )


@dataclass(frozen=True, slots=True)
class _Prover:
    """Proves one stream."""

    spark: SparkSession
    declared: Declared
    root: str | None
    own: OwnTable | None

    def prove(self) -> Iterator[TableProof]:
        """Yield the proof of each sink."""
        name = self.declared.name
        place = find_place(
            self.spark, name, self.root, checkpoint=self.declared.options.get("checkpoint")
        )
        coverages = Coverages(spark=self.spark, declared=self.declared, place=place)
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
        covered = coverages.of(held.row)
        if isinstance(covered, NoBatchForm):
            return _unproved(self.declared.name, sink, covered.reason)
        rows = covered.form.df
        if sink.keys and sink.sequence_by is None and _has_repeated(rows, sink.keys):
            reason = "keys come more than once, and without sequence_by the last batch counts"
            return _unproved(self.declared.name, sink, reason)
        wanted = held.comparable(held.newest(rows))
        keys = tuple(key for key in sink.keys if key in wanted.columns)
        compared = prove_tables(wanted, held.rows, keys=keys)
        others = _others(compared) if sink.keys else ()
        proof = TableProof(
            stream=self.declared.name,
            table=sink.shown,
            compared=_without_others(compared) if sink.keys else compared,
            by=keys or coordinates(wanted.columns),
            keys=tuple(sink.keys),
            sequence_by=sink.sequence_by,
            last_batch=held.row.last_batch,
            records=covered.records,
            left_out=(*held.left_out, *others),
        )
        varying = map(Doubt, (*covered.form.doubts, *held.doubts))
        return _doubted(proof, (*coverages.doubts(held.row.sink), *varying))

    def _prove_own(self, sink: SinkSpec, coverages: Coverages) -> TableProof:
        """Compare what the user's own code has written, up to the newest commit."""
        name = self.declared.name
        if self.own is None:
            reason = f"{sink.shown} gives no way to read its rows back: give own= for {name}"
            return _unproved(name, sink, reason)
        covered = coverages.until_newest_commit()
        if isinstance(covered, NoBatchForm):
            return _unproved(name, sink, covered.reason)
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
    return replace(proof, reason=f"rows differ, which can have another cause: {explaining[0]}")


def _has_repeated(rows: Any, keys: Sequence[str]) -> bool:
    counted = rows.groupBy(*map(quoted, keys)).count()
    return bool(counted.where("count > 1").limit(1).collect())


def _others(compared: Comparison) -> tuple[str, ...]:
    """Say how many rows of other writers a table has that is merged by keys."""
    count = compared.unexpected
    return (f"{count:,} keys that do not come from the source: other writers",) if count else ()


def _without_others(compared: Comparison) -> Comparison:
    kept = tuple(each for each in compared.examples if each.fault is not Fault.UNEXPECTED)
    return replace(compared, unexpected=0, examples=kept)
