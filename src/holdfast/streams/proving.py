"""Proves from the data that the sinks of streams hold exactly what they must.

What a sink must hold is computed again: the stream's own function, as a batch job over exactly what
the sink's ledger says has arrived. What it holds is read as of the same moment. Nothing is written,
no lease is taken, and the streams may run meanwhile.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.proof.tables import coordinates, prove_tables
from holdfast.proof.values import Comparison, CounterExample, Fault, ProofVerdict, TableProof
from holdfast.record.documents import RecordError
from holdfast.redact import redact
from holdfast.sinks.contents import BEYOND, SinkContents
from holdfast.sinks.sink import SinkSpec
from holdfast.spark.errors import first_line, spark_errors
from holdfast.spark.plans import Aggregation
from holdfast.streams.batch_form import BatchForm, NoBatchForm
from holdfast.streams.covered import Coverages, Covered, Doubt
from holdfast.streams.declared import Declared
from holdfast.streams.external_table import ExternalTable
from holdfast.streams.kept_by_state import Kept, has_repeated, kept_by_state
from holdfast.streams.place import Place, find_place
from holdfast.streams.proof_advice import advise, advise_unknown
from holdfast.streams.resolve import check_session
from holdfast.streams.static_sides import changed_sides

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger("holdfast.proof")


def prove_streams(
    streams: Sequence[Declared],
    spark: SparkSession,
    *,
    root: str | None,
    own: Mapping[str, ExternalTable],
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


class _Prover(msgspec.Struct, frozen=True):
    """Proves one stream."""

    spark: SparkSession
    declared: Declared
    root: str | None
    own: ExternalTable | None
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
            _LOG.info("%s: comparing %s", name, sink.display_name)
            proof = _unproved(name, sink, "it was never started under this root")
            if place.is_written_down:
                proof = self._prove(sink, coverages)
            yield proof

    def _prove(self, sink: SinkSpec, coverages: Coverages) -> TableProof:
        name = self.declared.name
        try:
            df = self.declared.build(self.spark)
            opened = sink.open_contents(df, stream=name)
            if opened is None:
                return self._prove_own(sink, coverages)
            with opened as held:
                return self._compare(sink, held, coverages)
        except spark_errors() as error:
            return _unproved(name, sink, f"Spark failed: {first_line(error)}")
        except HoldfastError as error:
            return _unproved(name, sink, error.why)

    def _compare(self, sink: SinkSpec, held: SinkContents, coverages: Coverages) -> TableProof:
        if held.row is None:
            return _unproved(self.declared.name, sink, "its ledger has no row of this stream")
        covered = coverages.of(held)
        if isinstance(covered, NoBatchForm):
            proof = _unproved(self.declared.name, sink, covered.reason)
            return replace(proof, next_step=advise_unknown(self.declared.name, covered.reason))
        doubts = (*coverages.doubts(held), *self._doubts(covered.form, coverages.place))
        if covered.form.state is not None:
            return self._compare_state(sink, held, covered, place=coverages.place, doubts=doubts)
        rows = covered.form.df
        if sink.keys and sink.sequence_by is None and has_repeated(rows, tuple(sink.keys)):
            reason = "keys come more than once, and without sequence_by the last batch counts"
            return _unproved(self.declared.name, sink, reason)
        wanted = held.comparable(held.newest(rows))
        keys = tuple(key for key in sink.keys if key in wanted.columns)
        kept = Kept(expected=wanted, found=held.rows, keys=keys, doubts=doubts)
        proof = self._prove_kept(sink, held, covered, kept=kept, place=coverages.place)
        return _doubted(proof, (*kept.doubts, *_ties(proof, held, rows)))

    def _compare_state(
        self,
        sink: SinkSpec,
        held: SinkContents,
        covered: Covered,
        *,
        place: Place,
        doubts: tuple[Doubt, ...],
    ) -> TableProof:
        """Compare a table of a stream with state."""
        kept = kept_by_state(sink, held, covered.form)
        if isinstance(kept, NoBatchForm):
            return _unproved(self.declared.name, sink, kept.reason)
        proof = self._prove_kept(sink, held, covered, kept=kept, place=place)
        proof = _doubted(proof, (*doubts, *kept.doubts))
        if proof.verdict is ProofVerdict.EXACT and kept.open_question:
            return replace(proof, reason=f"the rest is exact; {kept.open_question}")
        return proof

    def _prove_kept(
        self, sink: SinkSpec, held: SinkContents, covered: Covered, *, kept: Kept, place: Place
    ) -> TableProof:
        assert held.row is not None
        compared = _with_beyond(prove_tables(kept.expected, kept.found, keys=kept.keys))
        others: tuple[str, ...] = ()
        if sink.keys:
            others = _others(compared.unexpected - kept.late_keys)
            compared = _without_others(compared, but=kept.late_keys)
        return TableProof(
            stream=self.declared.name,
            table=sink.display_name,
            compared=compared,
            by=kept.keys or coordinates(kept.expected.columns),
            keys=tuple(sink.keys),
            sequence_by=sink.sequence_by,
            last_batch=held.row.last_batch,
            records=covered.records,
            left_out=(*kept.left_out, *others),
            next_step=advise(sink, compared, covered, place=place, end=held.row.end_offsets),
        )

    def _prove_own(self, sink: SinkSpec, coverages: Coverages) -> TableProof:
        """Compare what the user's own code has written, up to the newest commit."""
        name = self.declared.name
        if self.own is None:
            reason = f"{sink.display_name} gives no way to read its rows back: give own= for {name}"
            return _unproved(name, sink, reason)
        covered = coverages.until_newest_commit()
        if isinstance(covered, NoBatchForm):
            proof = _unproved(name, sink, covered.reason)
            return replace(proof, next_step=advise_unknown(name, covered.reason))
        state = covered.form.state
        if state is not None and not isinstance(state.shape, Aggregation):
            reason = "it keeps state: dropDuplicates, and which row it keeps is not decided"
            return _unproved(name, sink, reason)
        wanted = self.own.expected(covered.form.df)
        proof = TableProof(
            stream=name,
            table=sink.display_name,
            compared=prove_tables(wanted, self.own.actual(self.spark), keys=self.own.keys),
            by=tuple(self.own.keys) or coordinates(wanted.columns),
            records=covered.records,
        )
        return _doubted(proof, tuple(self._doubts(covered.form, coverages.place)))

    def _doubts(self, form: BatchForm, place: Place) -> Iterator[Doubt]:
        """Yield why the rows can be others than the stream gave."""
        yield from map(Doubt, form.doubts)
        yield from map(Doubt, changed_sides(self.spark, form.sides, place))


def _unproved(stream: str, sink: SinkSpec, reason: str) -> TableProof:
    return TableProof(stream=stream, table=sink.display_name, compared=None, reason=redact(reason))


def _doubted(proof: TableProof, doubts: Sequence[Doubt]) -> TableProof:
    """Return a proof; rows that differ prove nothing where something else explains them all."""
    compared = proof.compared
    faults = {fault for fault in Fault if compared is not None and getattr(compared, fault.value)}
    explaining = [each.sentence for each in doubts if faults and faults <= each.explains]
    if not explaining:
        return proof
    reason = f"rows differ, which can have another cause: {explaining[0]}"
    return replace(proof, reason=reason, next_step="")


def _ties(proof: TableProof, held: SinkContents, rows: DataFrame) -> Iterator[Doubt]:
    """Yield that a sink orders rows by rules of its own, if there are any that it has to order."""
    is_exact = proof.compared is None or proof.compared.exact
    if is_exact or not held.ties or proof.sequence_by is None:
        return
    by = (*proof.keys, proof.sequence_by)
    if has_repeated(rows.distinct() if _has_order(rows) else rows, by):
        yield Doubt(held.ties, {Fault.ALTERED})


def _has_order(rows: DataFrame) -> bool:
    """Return whether Spark can compare rows, which it cannot if they have a map."""
    return "map<" not in rows.schema.simpleString()


def _with_beyond(compared: Comparison) -> Comparison:
    """Return a comparison whose examples show what the stream's own types cannot hold."""
    return replace(compared, examples=tuple(map(_shown_beyond, compared.examples)))


def _shown_beyond(example: CounterExample) -> CounterExample:
    expected = _without(BEYOND, example.expected)
    found = _without(BEYOND, example.found)
    beyond = None if example.found is None else example.found.get(BEYOND)
    if beyond is not None and found is not None:
        found = {**found, **json.loads(str(beyond))}
    return replace(example, expected=expected, found=found)


def _without(name: str, row: Mapping[str, object] | None) -> Mapping[str, object] | None:
    return None if row is None else {key: row[key] for key in row if key != name}


def _others(count: int) -> tuple[str, ...]:
    """Say how many rows of other writers a table has that is merged by keys."""
    return (f"{count:,} keys that do not come from the source: other writers",) if count else ()


def _without_others(compared: Comparison, *, but: int) -> Comparison:
    """Return a comparison without the rows of other writers; so many are not theirs."""
    kept = tuple(each for each in compared.examples if but or each.fault is not Fault.UNEXPECTED)
    return replace(compared, unexpected=but, examples=kept)
