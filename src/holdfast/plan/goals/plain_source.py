"""Whether the sources of a plain stream still have what it reads next, as far as that is known.

The event log has no address of Kafka: it must be named with --source. Of a Delta table it has the
path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from holdfast import clock
from holdfast.formats.event_log.events import BatchProgress
from holdfast.judgement.probing import probe_needed
from holdfast.plan.goals.plain_position import ResumePoint
from holdfast.plan.world import StreamNow
from holdfast.sources.delta.found import DeltaSource
from holdfast.sources.kafka.found import KafkaSource
from holdfast.sources.probe import Found, NotProbed, SourceLooks
from holdfast.sources.registry import parse_offset

_TABLE = re.compile(r"DeltaSource\[(?P<place>.+)\]")


class SourcesNow(msgspec.Struct, frozen=True, kw_only=True):
    """What the sources of a stream can still give."""

    lost: tuple[str, ...] = ()
    """What is gone of what the stream reads next, one sentence without a full stop each."""
    unknown: tuple[str, ...] = ()
    """What was not looked at, with the reason."""


def look_at_sources(now: StreamNow, position: ResumePoint) -> SourcesNow:
    """Ask every source whether it still has what comes after a position.

    Raises:
        ConfigError: A source is named that the stream does not have.
    """
    needed = {
        str(place): parse_offset(text)
        for place, text in enumerate(position.end)
        if text is not None
    }
    looks = SourceLooks(
        given=_places(position.batch, now.sources_given),
        options=now.options,
        kafka_config=None,
        contract=None,
        topic_ids={},
        now=clock.now(),
    )
    lost, unknown = [], []
    for probe in probe_needed(needed, looks):
        if isinstance(probe.found, NotProbed):
            unknown.append(f"{probe.display_name}: {probe.found.why}")
        elif _has_lost(probe.found):
            lost.append(f"{probe.display_name} does not have everything that comes next any more")
    return SourcesNow(lost=tuple(lost), unknown=tuple(unknown))


def _has_lost(found: Found) -> bool:
    """Return whether a source lacks something from the needed position on."""
    if isinstance(found, KafkaSource):
        return found.has_lost
    if not isinstance(found, DeltaSource):
        return False
    gone = found.missing or found.damaged or found.files_gone
    is_cut = found.earliest is not None and found.earliest > found.needed_version
    return bool(gone) or is_cut or not found.is_same_table


def _places(batch: BatchProgress, given: Mapping[str, str]) -> dict[str, str]:
    """Return where the sources are: as they were named, and Delta tables by the event log."""
    places = dict(given)
    for place, source in enumerate(batch.sources):
        matched = _TABLE.fullmatch(source.description)
        if matched is not None and not {"", str(place)} & set(given):
            places[str(place)] = matched["place"]
    return places
