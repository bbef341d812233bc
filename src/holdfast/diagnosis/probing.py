"""Asks every source of a query what it can still give.

Where a source is comes from the options that were given, or from the contract of a guarded stream.
What cannot be asked is not probed, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.sources import Offset
from holdfast.checkpoint.sources.delta import DeltaOffset
from holdfast.checkpoint.sources.files import FileOffset
from holdfast.checkpoint.sources.iceberg import IcebergOffset
from holdfast.checkpoint.sources.kafka import KafkaOffset
from holdfast.errors import ConfigError, HoldfastError
from holdfast.evidence.progress import find_progress
from holdfast.evidence.sources.delta_probe import probe_delta
from holdfast.evidence.sources.file_probe import probe_files
from holdfast.evidence.sources.iceberg_probe import probe_iceberg
from holdfast.evidence.sources.kafka import kafka_query
from holdfast.evidence.sources.kafka_client import open_kafka
from holdfast.evidence.sources.kafka_probe import probe_kafka
from holdfast.evidence.sources.needed import find_needed
from holdfast.evidence.sources.probe import NotProbed, SourceProbe
from holdfast.evidence.wording import source_kind
from holdfast.record.contracts import Contract
from holdfast.storage.open import open_reader
from holdfast.storage.read import Reader

_SERVERS, _PATH = "kafka.bootstrap.servers", "path"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLooks:
    """Where the sources of one query are, and what is known of them."""

    given: Mapping[str, str]
    """Where each is, by its place in the query; an empty place stands for the only one."""
    options: Mapping[str, str]
    """Of the store."""
    kafka_config: str | None
    contract: Contract | None
    topic_ids: Mapping[str, Mapping[str, str]] | str
    """Those of the last guarded run, by source; a text says why they could not be read."""
    now: datetime

    def option(self, source: str, name: str) -> str | None:
        """Return where a source is: as given, or by an option that the contract has kept."""
        if source in self.given or "" in self.given:
            return self.given.get(source, self.given.get(""))
        return self.kept(source).get(name)

    def kept(self, source: str) -> Mapping[str, str]:
        """Return the options of a source that the contract has kept."""
        known = () if self.contract is None else self.contract.source_options
        number = int(source) if source.isdecimal() else len(known)
        return known[number] if number < len(known) else {}


def probe_sources(
    checkpoint: Checkpoint, reader: Reader, looks: SourceLooks
) -> tuple[SourceProbe, ...]:
    """Ask every source of the newest offset entry.

    Args:
        checkpoint: As read.
        reader: Of the checkpoint.
        looks: Where the sources are.

    Raises:
        ConfigError: A source is named that the checkpoint does not have.
    """
    _check_given(looks, find_needed(checkpoint))
    return tuple(_probe_each(checkpoint, reader, looks))


def probe_needed(needed: Mapping[str, Offset], looks: SourceLooks) -> tuple[SourceProbe, ...]:
    """Ask every source from an offset on, where there is no checkpoint to say what else counts.

    Raises:
        ConfigError: A source is named that there is not.
    """
    _check_given(looks, needed)
    return tuple(_probe_one(source, each, looks) for source, each in needed.items())


def _check_given(looks: SourceLooks, there: Mapping[str, Offset]) -> None:
    for source in sorted(set(looks.given) - {"", *there} if there else ()):
        known = ", ".join(there)
        raise ConfigError(
            f"--source {source}=…: the checkpoint has no source {source}, but {known}."
        )


def _probe_each(
    checkpoint: Checkpoint, reader: Reader, looks: SourceLooks
) -> Iterator[SourceProbe]:
    logs = {log.name: log for log in checkpoint.sources}
    progress = find_progress(checkpoint)
    # A start lists again what the last committed batch has read of a table.
    committed = () if progress.pending else progress.sources
    listed = {each.source: each.start for each in committed}
    for source, needed in find_needed(checkpoint).items():
        if isinstance(needed, FileOffset) and source in logs:
            yield probe_files(
                logs[source], reader, lambda place: open_reader(place, looks.options), now=looks.now
            )
        else:
            yield _probe_one(source, needed, looks, listed=listed.get(source))


def _probe_one(
    source: str, needed: Offset, looks: SourceLooks, *, listed: Offset | None = None
) -> SourceProbe:
    match needed:
        case KafkaOffset():
            return _probe_kafka(source, needed, looks)
        case DeltaOffset() | IcebergOffset():
            return _probe_table(source, needed, looks, listed=listed)
        case _:
            return _not_probed(source, needed, "a source of this kind cannot be asked")


def _probe_kafka(source: str, needed: KafkaOffset, looks: SourceLooks) -> SourceProbe:
    servers = looks.option(source, _SERVERS)
    if servers is None:
        return _not_probed(source, needed, _say_where(source, "its bootstrap servers"))
    client = open_kafka(servers, looks.kafka_config)
    if isinstance(client, NotProbed):
        return _not_probed(source, needed, client.why)
    kept, ids = looks.kept(source), looks.topic_ids
    return probe_kafka(
        source,
        needed,
        client,
        recorded=ids if isinstance(ids, str) else ids.get(source, {}),
        query=kafka_query(kept) if kept else None,
    )


def _probe_table(
    source: str,
    needed: DeltaOffset | IcebergOffset,
    looks: SourceLooks,
    *,
    listed: Offset | None,
) -> SourceProbe:
    place = looks.option(source, _PATH)
    if place is None:
        return _not_probed(source, needed, _say_where(source, "the table's location"))
    try:
        table = open_reader(place, looks.options)
        if isinstance(needed, DeltaOffset):
            before = listed if isinstance(listed, DeltaOffset) else None
            return probe_delta(source, needed, table, now=looks.now, listed=before)
        return probe_iceberg(source, needed, table, now=looks.now)
    except HoldfastError as error:
        return _not_probed(source, needed, error.why)


def _say_where(source: str, what: str) -> str:
    return f"a checkpoint does not say where it is: add --source {source}=WHERE, {what}"


def _not_probed(source: str, needed: Offset, why: str) -> SourceProbe:
    return SourceProbe(source=source, shown=source_kind(needed), found=NotProbed(why=why))
