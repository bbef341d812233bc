"""migrate: go on in another Kafka cluster, at the offsets that a mapping translates.

A mapping is what MirrorMaker 2 keeps in its offset-syncs topic: pairs of offsets that stand for the
same record in both clusters. Where there is a pair for exactly the offset at which the sinks end,
the stream goes on there. Else it goes back to the last pair before, and what lies between comes
again: MirrorMaker writes few pairs, and offsets between two of them need not be as far apart.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.text import canonical
from holdfast.plan.draft import Heading, new_plan_id, put_together
from holdfast.plan.entries import kafka_offset
from holdfast.plan.goal import GoalCase, Option, goal
from holdfast.plan.goals.ends import find_ends, repeated_ahead
from holdfast.plan.goals.outputs import OutputChoice, ResetRequest
from holdfast.plan.goals.position import Position
from holdfast.plan.goals.refusals import say_reset
from holdfast.plan.goals.reset import reset_part
from holdfast.plan.plan_file import Change, NoPlan, Plan
from holdfast.plan.world import StreamNow
from holdfast.sources.kafka.kind import KafkaOffset, parse_kafka_offset


class OffsetSync(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One line of a mapping: the same record in both clusters."""

    topic: str
    partition: int
    upstream_offset: int
    downstream_offset: int
    downstream_topic: str = ""
    """Its name in the new cluster; the same when it is empty."""


class _Translated(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    partition: int
    offset: int
    again: int
    """How many records of the old cluster lie between the pair and where the sinks end."""


@goal(
    "migrate",
    "Go on in another Kafka cluster.",
    Option(
        flag="--mapping",
        field="target",
        keyword="mapping",
        metavar="FILE",
        is_required=True,
        is_file=True,
        help="Pairs of offsets, one JSON object per line: topic, partition, upstreamOffset, "
        "downstreamOffset, and downstreamTopic if it has another name there.",
    ),
)
def plan_migrate(asked: GoalCase) -> Plan | NoPlan:
    """Go on in another Kafka cluster, at the offsets that MirrorMaker 2 has translated.

    The sinks keep what they hold. The code then names the new cluster and its topics.
    """
    now = asked.now
    ends = find_ends(now)
    end = parse_kafka_offset(canonical(ends.get("0")))
    if end is None or len(ends) != 1:
        return NoPlan(reason=f"{now.stream} does not read one Kafka source, and nothing else.")
    if now.is_stateful:
        return NoPlan(
            reason=f"{now.stream} keeps state of the records before: a new generation has none. "
            "Reset it in the new cluster.",
            nearest=say_reset(now),
        )
    syncs = parse_mapping(asked.request.target)
    if isinstance(syncs, NoPlan):
        return syncs
    position = translate(end, syncs)
    if isinstance(position, NoPlan):
        return position
    position = _counting_ahead(now, position)
    plan_id = new_plan_id()
    kept = ResetRequest(start="", output=OutputChoice.KEEP, outputs={})
    part = reset_part(now, position, kept, plan_id=plan_id)
    if isinstance(part, NoPlan):
        return part
    heading = Heading(
        goal="migrate",
        summary=f"{now.stream} goes on in another Kafka cluster.",
        undo="One more generation, on the checkpoint of before and the old cluster.",
        afterwards=("Name the new cluster and its topics in the code, and start the stream.",),
    )
    return put_together(heading, (now,), (part,), plan_id=plan_id)


def _counting_ahead(now: StreamNow, position: Position) -> Position:
    """Return a position that says what a sink gets again that is ahead of another one."""
    ahead = repeated_ahead(now)
    changes = (*position.changes, *ahead)
    return replace(position, changes=changes, rereads=position.rereads or bool(ahead))


def parse_mapping(text: str) -> list[OffsetSync] | NoPlan:
    """Return the pairs of a mapping, or which line is none."""
    decoder = msgspec.json.Decoder(OffsetSync)
    found: list[OffsetSync] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found.append(decoder.decode(line))
        except (msgspec.MsgspecError, RecursionError):
            return NoPlan(reason=f"Line {number} of the mapping is not a pair of offsets.")
    return found if found else NoPlan(reason="The mapping has no pair of offsets.")


def translate(end: KafkaOffset, syncs: list[OffsetSync]) -> Position | NoPlan:
    """Return where a stream goes on in the new cluster."""
    translated: list[_Translated] = []
    for topic, partitions in end.partitions.items():
        for partition, offset in partitions.items():
            found = _translate(syncs, topic, partition, offset=offset)
            if found is None:
                return NoPlan(
                    reason=f"The mapping has no pair for {topic}/{partition} at or before offset "
                    f"{offset:,}, where the sinks end."
                )
            translated.append(found)
    places = {(each.topic, each.partition) for each in translated}
    if len(places) < len(translated):
        return NoPlan(reason="The mapping puts two partitions into one.")
    again = sum(each.again for each in translated)
    what = f"up to {again:,} records come again: the mapping has no pair for exactly their end"
    offsets: dict[str, dict[int, int]] = {}
    for each in translated:
        offsets.setdefault(each.topic, {})[each.partition] = each.offset
    return Position(
        shown=f"begins at the translated offsets of {len(translated)} partitions",
        offsets={"0": kafka_offset(offsets)},
        changes=(Change(kind="repeats", what=what, amount=again),) if again else (),
        rereads=again > 0,
    )


def _translate(
    syncs: list[OffsetSync], topic: str, partition: int, *, offset: int
) -> _Translated | None:
    """Return the pair that is at an offset, or the last one before it."""
    before = max(
        _pairs_of(syncs, topic, partition, offset=offset),
        key=lambda each: each.upstream_offset,
        default=None,
    )
    if before is None:
        return None
    return _Translated(
        topic=before.downstream_topic or topic,
        partition=partition,
        offset=before.downstream_offset,
        again=offset - before.upstream_offset,
    )


def _pairs_of(
    syncs: list[OffsetSync], topic: str, partition: int, *, offset: int
) -> Iterator[OffsetSync]:
    for each in syncs:
        is_of = (each.topic, each.partition) == (topic, partition)
        if is_of and 0 <= each.upstream_offset <= offset and each.downstream_offset >= 0:
            yield each
