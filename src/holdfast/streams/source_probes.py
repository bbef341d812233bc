"""What a guarded start asks the sources of its query (G3): never more than a few seconds.

A source that does not answer is not looked at: that is logged, and the start goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.event import Informed, Warned
from holdfast.evidence.progress import find_needed
from holdfast.evidence.stream import StreamEvidence
from holdfast.record.contracts import Contract
from holdfast.record.runs import bounded_topic_ids, last_topic_ids
from holdfast.sources.kafka.found import KafkaQuery, KafkaSource, kafka_query
from holdfast.sources.kafka.kind import KafkaOffset
from holdfast.sources.kafka.probe import probe_kafka
from holdfast.sources.kind import Offset
from holdfast.sources.probe import NotProbed, Question, SourceLooks, SourceProbe, ask
from holdfast.sources.registry import of_kind
from holdfast.spark.errors import spark_errors
from holdfast.spark.port import port_of
from holdfast.storage.read import Reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SourceProbes(msgspec.Struct, frozen=True, kw_only=True):
    """How to ask the sources of one start."""

    df: DataFrame
    record: Reader
    epoch: int
    contract: Contract
    before: Contract | None
    """That of the last run; None when there was none, or it is unknown."""

    def ask(self, evidence: StreamEvidence) -> tuple[SourceProbe, ...]:
        """Return what each source can still give; kinds that cannot be asked are left out."""
        try:
            clients = port_of(self.df.sparkSession).find_kafka_clients(self.df)
        except spark_errors() as error:
            emit(Informed(f"its sources were not looked at: {type(error).__name__}"))
            return ()
        needed = find_needed(evidence.checkpoint)
        recorded: dict[str, dict[str, str]] | str = {}
        if clients and needed:
            recorded = self._recorded(evidence)
        probes = []
        for number, client in clients.items():
            query = self._query(number)
            offset = _offset_of(number, needed, is_alone=len(clients) == 1)
            if not offset.partitions and not query.subscribed:
                continue  # a pattern, and nothing was read yet: there is no name to ask about
            ids = recorded if isinstance(recorded, str) else recorded.get(str(number), {})
            probes.append(probe_kafka(str(number), offset, client, recorded=ids, query=query))
        probes += self._ask_others(needed)
        for each in probes:
            if isinstance(each.found, NotProbed):
                source = f"source {each.source}, {each.display_name}, was not looked at"
                emit(Informed(f"{evidence.stream}: {source}: {each.found.why}"))
        return tuple(probes)

    def _ask_others(self, needed: Mapping[str, Offset]) -> Iterator[SourceProbe]:
        """Ask sources that need no client of the session."""
        looks = SourceLooks(
            given={},
            options={},
            kafka_config=None,
            contract=self.contract,
            topic_ids={},
            now=clock.now(),
        )
        for source, offset in needed.items():
            if offset.kind.asked_at_start:
                yield ask(Question(source=source, needed=offset, looks=looks))

    def _query(self, number: int) -> KafkaQuery:
        options = self.contract.source_options
        before = self.before.source_options if self.before is not None else ()
        return kafka_query(
            options[number] if number < len(options) else None,
            before[number] if number < len(before) else None,
        )

    def _recorded(self, evidence: StreamEvidence) -> dict[str, dict[str, str]] | str:
        """Return the topic ids of the last run that has any, or why they are unknown."""
        number = evidence.generation.number
        try:
            return last_topic_ids(self.record, before=self.epoch, generation=number)
        except HoldfastError as error:
            emit(Warned(f"the topic ids of the last run are unknown: {error.why}"))
            return error.why


def topic_ids_of(probes: tuple[SourceProbe, ...]) -> dict[str, dict[str, str]]:
    """Return the topic ids that a run records."""
    found = {each.source: each.found for each in probes}
    return bounded_topic_ids(
        {
            source: each.topic_ids
            for source, each in found.items()
            if isinstance(each, KafkaSource) and each.topic_ids
        }
    )


def _offset_of(number: int, needed: dict[str, Offset], *, is_alone: bool) -> KafkaOffset:
    """Return what the next batch needs of a source; nothing when that is not known.

    Entries that name their sources do not number them: there a single Kafka source is known.
    """
    topics = of_kind(needed, KafkaOffset)
    if str(number) not in needed and is_alone and len(topics) == 1:
        return next(iter(topics.values()))
    return topics.get(str(number), KafkaOffset(partitions={}))
