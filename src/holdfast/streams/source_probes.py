"""What a guarded start asks the sources of its query (G3): never more than a few seconds.

A source that does not answer is not looked at: that is logged, and the start goes on.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from holdfast.checkpoint.sources import Offset
from holdfast.checkpoint.sources.kafka import KafkaOffset
from holdfast.errors import HoldfastError
from holdfast.evidence.sources.kafka import KafkaQuery, KafkaSource, kafka_query
from holdfast.evidence.sources.kafka_probe import probe_kafka
from holdfast.evidence.sources.needed import find_needed
from holdfast.evidence.sources.probe import NotProbed, SourceProbe
from holdfast.evidence.stream import StreamEvidence
from holdfast.record.contracts import Contract
from holdfast.record.runs import bounded_topic_ids, last_topic_ids
from holdfast.spark.errors import spark_errors
from holdfast.spark.kafka_client import find_kafka_clients
from holdfast.storage.read import Reader

_LOG = logging.getLogger("holdfast")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProbes:
    """How to ask the sources of one start."""

    df: Any
    record: Reader
    epoch: int
    contract: Contract
    before: Contract | None
    """That of the last run; None when there was none, or it is unknown."""

    def ask(self, evidence: StreamEvidence) -> tuple[SourceProbe, ...]:
        """Return what each source can still give; those of other kinds are not asked."""
        try:
            clients = find_kafka_clients(self.df)
        except spark_errors() as error:
            _LOG.info("holdfast: its sources were not looked at: %s", type(error).__name__)
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
        for each in probes:
            if isinstance(each.found, NotProbed):
                told = (evidence.stream, each.source, each.shown, each.found.why)
                _LOG.info("holdfast: %s: source %s, %s, was not looked at: %s", *told)
        return tuple(probes)

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
            _LOG.warning("holdfast: the topic ids of the last run are unknown: %s", error.why)
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
    found = needed.get(str(number))
    named = [each for each in needed.values() if isinstance(each, KafkaOffset)]
    if found is None and is_alone and len(named) == 1:
        found = named[0]
    return found if isinstance(found, KafkaOffset) else KafkaOffset(partitions={})
