"""Queries that read other sources than their checkpoint."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.evidence.stream import StreamEvidence
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ids import BatchId
from holdfast.rules.changed_query import both_contracts
from holdfast.rules.commands import backfilling, reset_advice
from holdfast.rules.rule import Finding, rule, stream_rule
from holdfast.rules.source_identity import find_narrowed, find_swapped
from holdfast.sources.kafka.kind import parse_kafka_offset
from holdfast.storage.schemes import find_scheme


@stream_rule("HF401", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESET)
def query_changed(case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """The query is not the one that the checkpoint belongs to, and Spark will refuse it."""
    refused = evidence.query_refused
    if refused is not None:
        yield query_changed.find(
            what=(f"{_changed(case)}: {refused.because}. Spark would fail with: {refused.error}."),
            how=_how(case),
            accepting="Spark decides; it plans a batch and fails in it, at every start",
            follows_from=refused.follows_from,
        )


def _changed(case: Case) -> str:
    if _is_same_query(case):
        return "The checkpoint was changed, and does not fit its own query any more"
    return "The query was changed, and its checkpoint cannot take it"


def _how(case: Case) -> str:
    if _is_same_query(case):
        return f"Restore the checkpoint from a backup. If there is none, {reset_advice(case)}."
    return f"Start the query as it was. To begin with the new query, {reset_advice(case)}."


def _is_same_query(case: Case) -> bool:
    """Return whether the query is the one of the last run."""
    query = case.query
    if query is None:  # looked at from outside, the contract of the last run is the query
        return case.record is not None
    before, now = query.before, query.now
    if before is None:
        return False
    return (len(before.sources), before.operators) == (len(now.sources), now.operators)


_FILES, _KAFKA = "FileSource[", "kafka "

_MORE = re.compile(r"[][*+?(){}|^$\\]")
"""In a pattern of topics, or in assigned partitions: what it stands for is not in the text."""


@stream_rule("HF402", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.RESET)
def source_changed(case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """The query reads another directory or topic than the one that its checkpoint counts."""
    before, now = evidence.sources_before, evidence.sources
    where = "in the last run"
    if before is None:
        where = "in the checkpoint"
        before = _topics_of_checkpoint(case, now)
    if evidence.newest_planned < 0 or len(before) != len(now):
        return
    if Counter(before) == Counter(now):
        yield from _judge_options(case)
        return
    for number, (old, new) in enumerate(zip(before, now, strict=True)):
        if not _is_replaced(old, new):
            continue
        yield source_changed.find(
            what=(
                f"Source {number} was {old} {where} and is {new} now. The checkpoint "
                "counts what was read of the old one. Spark fails at the start, or reads "
                "everything in the new one and nothing more of the old one."
            ),
            how=(
                "Start the query with its old source, or start the new source as a stream of its "
                f"own, with another name. If the data was moved, {reset_advice(case)}."
            ),
            accepting=(
                f"Spark decides; if it starts, {new} is read from its beginning, what was not "
                f"read of {old} is lost, and a later start with the old source can fail"
            ),
            follows_from=(f"offsets/{evidence.newest_planned}", "the contract of the last run"),
        )


def _topics_of_checkpoint(case: Case, now: Sequence[str]) -> tuple[str, ...]:
    """Return the sources with the topics of the newest entry: no run has told of them.

    So it is after a migration to another cluster, and when a checkpoint is adopted.
    """
    entry = case.checkpoint.offsets.get(BatchId(case.newest_planned))
    if not isinstance(entry, OffsetEntry) or len(entry.offsets) != len(now):
        return ()
    parsed = (parse_kafka_offset(each.text or "") for each in entry.offsets)
    return tuple(
        source if offset is None or not offset.partitions else _KAFKA + ",".join(offset.partitions)
        for source, offset in zip(now, parsed, strict=True)
    )


def _judge_options(case: Case) -> Iterator[Finding]:
    """Find sources that read less of their directory than in the last run."""
    found = both_contracts(case)
    if found is None or find_swapped(*found):
        return
    for number, old, new in find_narrowed(*found):
        yield source_changed.find(
            what=(
                f"Source {number} was {old} in the last run and is {new} now. Spark starts: it "
                "reads all files that match now and that it has not read yet, and no more of the "
                "others."
            ),
            how=(
                "Start the query with its old options, or start the new source as a stream of its "
                "own, with another name."
            ),
            accepting=(
                "files that match now are read from the beginning, and what was not read of those "
                "that no longer match is lost"
            ),
            follows_from=(f"offsets/{case.newest_planned}", "the contract of the last run"),
        )


def _is_replaced(old: str, new: str) -> bool:
    """Return whether something that was read is not read any more; topics may be added."""
    if all(each.startswith(_FILES) for each in (old, new)):
        return _path(old) != _path(new)
    if all(each.startswith(_KAFKA) and not _MORE.search(each) for each in (old, new)):
        return not _topics(old) <= _topics(new)
    return False


def _path(source: str) -> str:
    """Return a directory without what can be written in several ways."""
    path = source.removeprefix(_FILES).removesuffix("]")
    scheme, colon, rest = path.rpartition(":")
    rest = re.sub("/+", "/", rest).rstrip("/")
    kind = find_scheme(scheme)
    if not scheme or (kind is not None and kind.is_local):
        return rest
    return f"{kind.name if kind else scheme}{colon}{rest}"


def _topics(source: str) -> set[str]:
    return {topic.strip() for topic in source.removeprefix(_KAFKA).split(",")}


@rule("HF403", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESUME)
def sources_swapped(case: Case) -> Iterator[Finding]:
    """The query reads the same sources in another order."""
    found = both_contracts(case)
    if found is None:
        return
    swapped = find_swapped(*found)
    if not swapped:
        return
    shown = ", ".join(f"source {number} was {old} and is {new}" for number, old, new in swapped)
    yield sources_swapped.find(
        what=(
            f"The sources are in another order: {shown}. The checkpoint counts by position. "
            "Spark fails at the start, or reads these sources again from their beginning."
        ),
        how="Restore the order of the sources in the code.",
        accepting=(
            "Spark decides; if it starts, it reads the sources again from their beginning, and "
            "those rows are duplicated"
        ),
        follows_from=(f"offsets/{case.newest_planned}", THE_LAST_CONTRACT),
    )


@rule("HF404", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESET)
def source_kind_changed(case: Case) -> Iterator[Finding]:
    """A source is of another kind than the one that its checkpoint counts."""
    found = both_contracts(case)
    if found is None:
        return
    old, new = found[0].sources, found[1].sources
    if len(old) != len(new) or Counter(old) == Counter(new):
        return
    for number, (before, now) in enumerate(zip(old, new, strict=True)):
        if _kind(before) == _kind(now):
            continue
        yield source_kind_changed.find(
            what=(
                f"Source {number} was {before} in the last run and is {now} now. Its offset in "
                f"offsets/{case.newest_planned} is of another form, and Spark fails at the start."
            ),
            how=(
                "Start the query with its old source, or give the new source its own stream. To "
                f"begin again with the new source, {reset_advice(case)}."
            ),
            accepting="Spark decides; it cannot read the old offset and fails at the start",
            follows_from=(f"offsets/{case.newest_planned}", THE_LAST_CONTRACT),
        )


def _kind(source: str) -> str:
    """Return what a source is, without its place: `FileSource`, `kafka`."""
    return source.partition("[")[0].partition(" ")[0]


_SUBSCRIBING = ("assign", "subscribe", "subscribePattern")


@rule("HF405", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def topics_added(case: Case) -> Iterator[Finding]:
    """The query subscribes to more Kafka topics than in its last run."""
    found = both_contracts(case)
    if found is None or len(found[0].source_options) != len(found[1].source_options):
        return
    both = zip(found[0].source_options, found[1].source_options, strict=True)
    for number, (old, new) in enumerate(both):
        before, now = _subscription(old), _subscription(new)
        if not before or not now or before == now or _is_reduced(before, now):
            continue
        yield topics_added.find(
            what=(
                f"Source {number} subscribed to {_shown(before)} in the last run and to "
                f"{_shown(now)} now. Spark reads a topic that the checkpoint does not have from "
                "its earliest offset, whatever startingOffsets says."
            ),
            how="If only new records are wanted, give the added topic a stream of its own.",
            follows_from=(f"offsets/{case.newest_planned}", THE_LAST_CONTRACT),
        )


def _subscription(options: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Return what a source subscribes to, and how; empty when it is not Kafka's."""
    return {
        name: frozenset(each.strip() for each in options[name].split(","))
        for name in _SUBSCRIBING
        if name in options
    }


def _is_reduced(before: dict[str, frozenset[str]], now: dict[str, frozenset[str]]) -> bool:
    """Return whether topics were only taken away, which is another finding."""
    both = before.get("subscribe"), now.get("subscribe")
    return both[0] is not None and both[1] is not None and both[1] <= both[0]


def _shown(subscription: dict[str, frozenset[str]]) -> str:
    return " ".join(
        f"{name}={','.join(sorted(topics))}" for name, topics in sorted(subscription.items())
    )


_STARTING = (
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "startingVersion",
)


@rule("HF406", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def starting_position_ignored(case: Case) -> Iterator[Finding]:
    """The code has another starting position, and the checkpoint has one already."""
    found = both_contracts(case)
    if found is None or len(found[0].source_options) != len(found[1].source_options):
        return
    load = backfilling(case, otherwise="load it with a bounded job")
    both = zip(found[0].source_options, found[1].source_options, strict=True)
    for number, (old, new) in enumerate(both):
        for name in _STARTING:
            if old.get(name) == new.get(name):
                continue
            yield starting_position_ignored.find(
                what=(
                    f"{name} of source {number} was {old.get(name, 'not set')} and is "
                    f"{new.get(name, 'not set')} now. Spark ignores it: the checkpoint is at "
                    f"batch {case.newest_planned}, and the query continues there."
                ),
                how=f"To read from another position, reset the stream. To read a range, {load}.",
                follows_from=(f"offsets/{case.newest_planned}", THE_LAST_CONTRACT),
            )
