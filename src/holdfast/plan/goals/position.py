"""Where a new generation begins, and what that repeats, skips or loses.

Spark takes a position from `offsets/0` and `commits/0` of a query without state, and Kafka's source
takes one from its own `sources/<i>/0` also with state. Where there is none, the options of the
source decide: a Delta table is read from its beginning, and a directory too; Kafka by
`startingOffsets`, which is `latest` unless the code says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec

from holdfast.checkpoint.layout import SOURCES
from holdfast.checkpoint.sources.files import FileEntry
from holdfast.plan.entries import file_log, kafka_offset
from holdfast.plan.goals.ends import find_ends, find_planned, repeated_ahead
from holdfast.plan.goals.gone_files import find_gone_files
from holdfast.plan.goals.read_log import read_source_files
from holdfast.plan.goals.refusals import say_reset
from holdfast.plan.goals.topic import began_at, find_expired, find_replaced, oldest_of
from holdfast.plan.plan_file import Change, NoPlan
from holdfast.plan.preconditions import Precondition, TopicHolds
from holdfast.plan.world import StreamNow
from holdfast.record.input_files import InputFile
from holdfast.sources.kafka.found import KafkaSource
from holdfast.sources.kind import Offset
from holdfast.sources.probe import NotProbed
from holdfast.sources.registry import parse_offset

EARLIEST, HERE, FRESH = "earliest", "here", "fresh"
_SERVERS = "kafka.bootstrap.servers"
_NOT_EARLIEST = "its startingOffsets are not earliest"
_STARTING = ("startingVersion", "startingTimestamp")


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """Where a new generation begins."""

    shown: str
    offsets: Mapping[str, object] | None = None
    """Of each source; None when the options of the sources decide."""
    files: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Files of the new checkpoint that the position needs, by path."""
    inputs: Mapping[str, Sequence[InputFile]] = msgspec.field(default_factory=dict)
    """What file sources have read before it, by source: the record keeps it too."""
    changes: tuple[Change, ...] = ()
    preconditions: tuple[Precondition, ...] = ()
    rereads: bool = False
    """Whether it reads again what the sinks hold."""
    is_whole: bool = False
    """Whether it reads everything again that the sources still have."""


def find_position(now: StreamNow, start: str) -> Position | NoPlan:
    """Return where a new generation of a stream begins.

    Args:
        now: The stream, as it is now.
        start: `earliest`, `here`, `fresh` for a stream downstream, or Kafka offsets as JSON.
    """
    ends, planned = find_ends(now), find_planned(now)
    if not ends and not planned:
        return _by_options(now)
    if start in (EARLIEST, FRESH):
        return _earliest(now, ends or planned, is_first=start == EARLIEST)
    if not ends:
        return NoPlan(
            reason=f"Not every sink of {now.stream} holds a batch yet, so there is no position to "
            "begin at. Start the stream as before: it runs batch 0 again.",
            nearest=say_reset(now),
        )
    return _here(now, ends) if start == HERE else _given(now, ends, start)


def _by_options(now: StreamNow) -> Position:
    """Return where a stream begins that has read nothing: no position of it can be written down."""
    contract = None if now.guard is None else now.guard.contract
    options = () if contract is None else contract.source_options
    changes = [
        Change(kind="skips", what=f"{name} of source {number} skips what is before it")
        for number, each in enumerate(options)
        for name in _STARTING
        if name in each
    ]
    changes += [
        Change(
            kind="skips", what=f"source {number} skips what is in its topic now: {_NOT_EARLIEST}"
        )
        for number, each in enumerate(options)
        if _SERVERS in each and each.get("startingOffsets", "latest") != EARLIEST
    ]
    shown = "begins where the options of its sources say: it has read nothing"
    return Position(shown=shown, changes=tuple(changes), is_whole=True)


def _here(now: StreamNow, ends: Mapping[str, object]) -> Position | NoPlan:
    if now.is_stateful:
        return NoPlan(
            reason=f"{now.stream} keeps state, and Spark starts no query with state from a seeded "
            "position: its first windows would be incomplete.",
            nearest=say_reset(now),
        )
    offsets, files = dict(ends), {}
    inputs: dict[str, list[InputFile]] = {}
    for source, end in ends.items():
        offset = _parse(end)
        if offset.log_index is not None:
            entries = read_source_files(now, source, offset.log_index)
            if isinstance(entries, NoPlan):
                return entries
            first = [
                FileEntry(path=each.path, timestamp_ms=each.timestamp_ms, log_offset=0)
                for each in entries
            ]
            files[f"{SOURCES}/{source}/0"] = file_log(first)
            inputs[source] = [InputFile(0, each.timestamp_ms, each.path) for each in first]
            offsets[source] = {"logOffset": 0}
    ahead = repeated_ahead(now)
    if ahead:
        return Position(
            shown="begins where the sink ends that is furthest behind",
            offsets=offsets,
            files=files,
            inputs=inputs,
            changes=ahead,
            rereads=True,
        )
    shown = "begins exactly where the sinks end: nothing is read again, nothing is skipped"
    return Position(shown=shown, offsets=offsets, files=files, inputs=inputs)


def _earliest(now: StreamNow, ends: Mapping[str, object], *, is_first: bool) -> Position | NoPlan:
    """Return the beginning of every source; what a stream downstream reads is written again."""
    offsets: dict[str, object] = {}
    files: dict[str, str] = {}
    shown: list[str] = []
    changes: list[Change] = []
    held: list[Precondition] = []
    for source, end in ends.items():
        offset = _parse(end)
        kind = offset.kind
        if kind.seeds_oldest:
            found = _earliest_of_topic(now, source)
            if isinstance(found, NoPlan):
                return found
            offsets |= found.offsets or {}
            files |= found.files
            shown.append(found.shown)
            changes += found.changes
            held += found.preconditions
            continue
        refused = _refuse_options(now, source, kind.starting_options)
        if refused is not None:
            return refused
        if is_first and offset.log_index is not None:
            changes += find_gone_files(now, source, offset.log_index)
        shown.append(
            f"reads {_path(now, source)} from its beginning"
            if kind.reads_from_the_first
            else f"reads source {source} from where its options say"
        )
    return Position(
        shown="; ".join(dict.fromkeys(shown)),
        offsets=offsets or None,
        files=files,
        changes=tuple(changes),
        preconditions=tuple(held),
        rereads=True,
        is_whole=True,
    )


def _earliest_of_topic(now: StreamNow, source: str) -> Position | NoPlan:
    probe = next((each for each in now.case.sources if each.source == source), None)
    found = None if probe is None else probe.found
    if not isinstance(found, KafkaSource):
        why = found.why if isinstance(found, NotProbed) else "it was not asked"
        return NoPlan(
            reason=f"How far back the topic of {now.stream} goes is not known: {why}.",
            nearest=f"the same with --source {source}=HOST:PORT; add --kafka-config FILE where the "
            "broker asks for a password",
        )
    options = _options(now, source)
    first, waiting = oldest_of(found)
    servers = options.get(_SERVERS, "")
    held = tuple(
        TopicHolds(
            stream=now.stream,
            servers=servers,
            topic=topic,
            offsets=tuple(sorted(partitions.items())),
        )
        for topic, partitions in first.items()
        if servers
    )
    names = ", ".join(each.name for each in found.topics)
    return Position(
        shown=f"reads up to {waiting:,} records of the topic {names} again, from the oldest on",
        offsets=None if now.is_stateful else {source: kafka_offset(first)},
        files=began_at(source, first) if now.is_stateful else {},
        changes=(*find_replaced(found), *find_expired(now, source, first)),
        preconditions=held,
    )


def _given(now: StreamNow, ends: Mapping[str, object], start: str) -> Position | NoPlan:
    """Return a position that was given, as JSON."""
    end = _parse(ends["0"]) if len(ends) == 1 and "0" in ends else None
    given = end.kind.parse(start) if end is not None and end.kind.takes_position else None
    if given is None or end is None:
        return NoPlan(
            reason="--from takes earliest, here, or the offsets of one Kafka source as JSON: "
            '\'{"topic":{"0":41,"1":40}}\'.'
        )
    if now.is_stateful:
        return _here(now, ends)
    here, there = end.numbers(), given.numbers()
    if here.keys() != there.keys():
        return NoPlan(reason="--from must name the partitions that the stream reads, all of them.")
    skipped = sum(max(there[each] - here[each], 0) for each in here)
    again = sum(max(here[each] - there[each], 0) for each in here)
    changes = [
        Change(kind=kind, what=f"up to {amount:,} records {how}", amount=amount)
        for kind, amount, how in (
            ("skips", skipped, "are never read"),
            ("repeats", again, "are read again"),
        )
        if amount
    ]
    return Position(
        shown=f"begins at the offsets given ({again:,} offsets again, {skipped:,} skipped)",
        offsets={"0": given.to_json()},
        changes=(*changes, *repeated_ahead(now)),
        rereads=again > 0 or bool(repeated_ahead(now)),
    )


def _refuse_options(now: StreamNow, source: str, names: tuple[str, ...]) -> NoPlan | None:
    """Refuse a source that would not begin at the beginning."""
    for name in names:
        if name in _options(now, source):
            value = _options(now, source)[name]
            return NoPlan(
                reason=f"{now.stream} reads {_path(now, source)} with {name}={value}, so a new "
                "checkpoint would begin there. Remove the option, start the stream once, and plan "
                "again."
            )
    return None


def _options(now: StreamNow, source: str) -> Mapping[str, str]:
    if now.is_plain:
        servers = now.sources_given.get(source) or now.sources_given.get("")
        return {} if servers is None else {_SERVERS: servers}
    contract = None if now.guard is None else now.guard.contract
    known = () if contract is None else contract.source_options
    number = int(source) if source.isdecimal() else len(known)
    return known[number] if number < len(known) else {}


def _path(now: StreamNow, source: str) -> str:
    return _options(now, source).get("path", f"source {source}")


def _parse(end: object) -> Offset:
    return parse_offset(end if isinstance(end, str) else json.dumps(end))
