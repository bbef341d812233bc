"""Whether the world is still as a plan was made for: every precondition, looked at again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from holdfast.apply.applying import PlanRun
from holdfast.apply.steps.kind import Drifted
from holdfast.apply.stores import Stores
from holdfast.errors import HoldfastError
from holdfast.ledger.store import Unreadable
from holdfast.plan.plan_file import Plan, PlanFileError
from holdfast.plan.preconditions import (
    FileIs,
    GenerationIs,
    LedgerIs,
    ListingIs,
    Precondition,
    TopicHolds,
    TreeIs,
    fingerprint,
)
from holdfast.plan.steps import FillTree, HoldTree, SettleSink, digest_of, row_value, says_the_same
from holdfast.plan.trees import list_files
from holdfast.record.generations import newest_generation
from holdfast.record.layout import HOME, is_stream_name, record_location
from holdfast.sources.kafka.client import open_kafka
from holdfast.sources.kafka.probe import CannotAskError
from holdfast.sources.probe import NotProbed
from holdfast.storage.location import is_inside, parse_location


def find_moved(plan: Plan, stores: Stores) -> tuple[str, ...]:
    """Return what is no longer as the plan was made for, one sentence each.

    Raises:
        HoldfastError: A ledger cannot be read from here; what is in it may be as it was.
    """
    stores.forget_ledgers()
    for each in plan.preconditions:
        if isinstance(each, LedgerIs):
            found = stores.ledger(each.sink, writes=False).read(each.stream)
            if isinstance(found, Unreadable) and found.error is not None:
                raise found.error
    return tuple(said for each in plan.preconditions for said in _moved(each, plan, stores))


def find_moved_rest(applying: PlanRun) -> tuple[str, ...]:
    """Return what has changed what the remaining steps of a plan were made for.

    Each step compares the files and the row that it changes. What is left are sinks that it does
    not change, and the source.
    """
    plan, stores = applying.plan, applying.stores
    stores.forget_ledgers()
    done = applying.journal.done()
    rest = [step for number, step in enumerate(plan.steps, start=1) if number not in done]
    if not rest:
        return ()
    settled = [each.sink for each in plan.steps if isinstance(each, SettleSink)]
    found: list[str] = []
    for each in plan.preconditions:
        is_other = isinstance(each, LedgerIs) and each.sink not in settled
        if is_other or isinstance(each, TopicHolds):
            found += _moved(each, plan, stores)
    # What fills a directory is looked at once the step before it has emptied that.
    held = {each.place for each in rest if isinstance(each, HoldTree)}
    now = [each for each in rest if not (isinstance(each, FillTree) and each.place in held)]
    found += [each.why for each in map(applying.look, now) if isinstance(each, Drifted)]
    return tuple(dict.fromkeys(found))


def refuse_other_streams(plan: Plan, stores: Stores) -> None:
    """Refuse a plan that touches a stream which it does not name: no lease of it is held.

    Raises:
        PlanFileError: It does.
    """
    root = parse_location(plan.root)
    for each in plan.places:
        place = parse_location(each)
        if not is_inside(place, root) or place in (root, plan.record_of(plan.stream)):
            continue
        first, second, *_ = (*place.path.removeprefix(root.path).strip("/").split("/"), "")
        stream = second if first == HOME else first.partition(".g")[0]
        if stream in plan.streams or not is_stream_name(stream):
            continue
        if newest_generation(stores.at(str(record_location(root, stream)))):
            why = f"A step touches {each}, which is of the stream {stream}; the plan is not for it."
            raise PlanFileError(f"Plan {plan.id}", why)


def _moved(each: Precondition, plan: Plan, stores: Stores) -> Iterator[str]:
    try:
        match each:
            case FileIs():
                yield from _file(each, stores)
            case ListingIs() | TreeIs():
                yield from _files(each, stores)
            case GenerationIs():
                yield from _generation(each, plan, stores)
            case LedgerIs():
                yield from _ledger(each, stores)
            case TopicHolds():
                yield from _topic(each, stores)
            case _:
                assert_never(each)
    except HoldfastError as error:
        yield f"{error.what} {error.why}"


def _file(each: FileIs, stores: Stores) -> Iterator[str]:
    there = stores.at(each.place)
    raw = there.read(each.path)
    if (None if raw is None else digest_of(raw)) != each.sha256:
        how = "is gone" if raw is None else "was created" if each.sha256 is None else "has changed"
        yield f"{there.location.join(each.path)} {how}."


def _files(each: ListingIs | TreeIs, stores: Stores) -> Iterator[str]:
    there = stores.at(each.place)
    if isinstance(each, TreeIs):
        found, shown = list_files(there).fingerprint, there.location
    else:
        found = fingerprint(there.list(each.directory).files)
        shown = there.location.join(each.directory)
    if found != each.fingerprint:
        yield f"{shown} has other files than it had."


def _generation(each: GenerationIs, plan: Plan, stores: Stores) -> Iterator[str]:
    place = record_location(parse_location(plan.root), each.stream)
    found = newest_generation(stores.at(str(place)))
    if found != each.number:
        yield f"{each.stream} is in generation {found}, and was in {each.number}."


def _ledger(each: LedgerIs, stores: Stores) -> Iterator[str]:
    ledger = stores.ledger(each.sink, writes=False)
    found = ledger.read(each.stream)
    if isinstance(found, Unreadable):
        yield f"The ledger of {each.sink.label} cannot be read: {found.why}"
        return
    value = None if found is None else row_value(found)
    if not says_the_same(value, each.row):
        now = "gone" if value is None else f"at batch {value.last_batch}, epoch {value.epoch}"
        yield f"The ledger row of {each.stream} in {each.sink.label} has changed: it is {now}."
    elif ledger.has_changed(each.stream, each.table):
        yield f"The table of the sink {each.sink.label} has changed."


def _topic(each: TopicHolds, stores: Stores) -> Iterator[str]:
    client = open_kafka(each.servers, stores.kafka_config)
    if isinstance(client, NotProbed):
        yield f"The topic {each.topic} cannot be asked: {client.why}."
        return
    try:
        answer = client.describe([each.topic]).get(each.topic)
    except CannotAskError as error:
        yield f"The topic {each.topic} cannot be asked: {error}."
        return
    ranges = {} if answer is None else answer.ranges
    if not {number for number, _ in each.offsets} <= set(ranges):
        yield f"The topic {each.topic} is gone, or has fewer partitions."
        return
    gone = sum(max(ranges[number][0] - offset, 0) for number, offset in each.offsets)
    if gone:
        yield f"{gone:,} offsets of the topic {each.topic} have expired since."
