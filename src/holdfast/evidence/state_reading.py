"""Reads what is in the state, for a question: the version that the next start loads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import NamedTuple

from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state import Operator, Store
from holdfast.checkpoint.state.live_rows import Question
from holdfast.checkpoint.state.row_codec import RowCodec, find_codec, has_families
from holdfast.checkpoint.state.scan import ScannedStore, scan_store
from holdfast.checkpoint.state.unsafe_row import NotDecoded
from holdfast.evidence.next_start import needed_version
from holdfast.evidence.state import (
    ROCKSDB,
    count_partitions,
    expected_stores,
    loaded_stores,
    provider_of,
    store_path,
    unique_ids,
)
from holdfast.evidence.state_keys import KeyMatcher
from holdfast.evidence.state_rows import OperatorRows, PartitionRows, StateQuestion, StateRows
from holdfast.storage.read import Reader

_SCANNERS = 4


def find_state_rows(reader: Reader, checkpoint: Checkpoint, question: StateQuestion) -> StateRows:
    """Read the state at the version that the next start loads.

    Args:
        reader: Of the checkpoint.
        checkpoint: As read.
        question: What is asked.
    """
    version = needed_version(checkpoint)
    chosen = [each for each in checkpoint.state if question.operator in (None, each.operator_id)]
    reading = _Reading(reader, checkpoint, question, version)
    absent = [path for each in chosen if version > 0 for path in reading.find_absent(each)]
    return StateRows(
        version=version,
        question=question,
        stores=tuple(found for each in chosen for found in reading.read_operator(each)),
        absent=tuple(absent),
    )


class _Reading(NamedTuple):
    """What is read, and for which question."""

    reader: Reader
    checkpoint: Checkpoint
    question: StateQuestion
    version: int

    def find_absent(self, operator: Operator) -> Iterator[str]:
        """Yield directories of stores that must be there and are not."""
        there = {(each.partition, each.name) for each in operator.stores}
        partition = self.question.partition
        expected = range(count_partitions(self.checkpoint, operator) or 0)
        for number in expected if partition is None else (partition,):
            for name in expected_stores(operator):
                if (number, name) not in there:
                    yield store_path(operator, number, name)

    def read_operator(self, operator: Operator) -> Iterator[OperatorRows]:
        """Yield every store of an operator, in all partitions that are asked for."""
        chosen = [
            each
            for each in sorted(loaded_stores(self.checkpoint, operator), key=lambda each: each.name)
            if self.question.partition in (None, each.partition)
        ]
        for _, stores in groupby(chosen, key=lambda each: each.name):
            yield self._read_stores(operator, [*stores])

    def _read_stores(self, operator: Operator, stores: list[Store]) -> OperatorRows:
        entry = self.checkpoint.newest_readable
        conf = {} if entry is None or entry.metadata is None else entry.metadata.conf
        is_rocksdb = provider_of(operator) == ROCKSDB
        codec = find_codec(operator, stores[0], conf, is_rocksdb=is_rocksdb)
        question, ids = _ask(codec, self.question), unique_ids(self.checkpoint, operator)

        def scan(store: Store) -> PartitionRows:
            chosen = ScannedStore(
                store=store,
                ids=ids.get((store.partition, store.name)),
                has_families=has_families(operator),
            )
            found = scan_store(self.reader, chosen, self.version, question=question)
            return PartitionRows(store=store, scan=found)

        # On disk one after the other: each holds its keys in memory, and nothing is waited for.
        with ThreadPoolExecutor(1 if self.reader.location.is_local else _SCANNERS) as pool:
            partitions = tuple(pool.map(scan, stores))
        return OperatorRows(
            operator=operator,
            store=stores[0].name,
            codec=codec,
            partitions=partitions,
            unknown_keys=wanted.unknown if isinstance(wanted := question.wanted, KeyMatcher) else 0,
        )


def _ask(codec: RowCodec | NotDecoded, question: StateQuestion) -> Question:
    if isinstance(codec, NotDecoded):
        return Question()
    if not question.conditions:
        return Question(most=question.most)
    kinds = {kind for _, kind in codec.key_types}  # several columns can have one name
    wanted = KeyMatcher(question.conditions, codec.key, kinds)
    return Question(wanted=wanted, most=question.most)
