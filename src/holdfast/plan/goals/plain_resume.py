"""The plan that gives the checkpoint of a plain stream back, in the words of the command line."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from holdfast.checkpoint.layout import OFFSETS
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.ids import BatchId
from holdfast.plan.draft import Draft, Heading, Part, new_plan_id, put_together
from holdfast.plan.goal import Option
from holdfast.plan.goals.plain_cut import cut_output
from holdfast.plan.goals.plain_given_back import GivenBack, give_back
from holdfast.plan.goals.plain_history import moment_ms
from holdfast.plan.goals.plain_parts import (
    add_checkpoint,
    exchange_output,
    restored,
    roots_of,
    settle,
)
from holdfast.plan.goals.plain_source import SourcesNow, look_at_sources
from holdfast.plan.plain import skips_batch
from holdfast.plan.plan_file import Change, Impact, Need, NoPlan, Plan, PlanFact
from holdfast.plan.signs import find_signs, usual_pause
from holdfast.plan.steps import Permission, Step
from holdfast.plan.world import StreamNow, look_at_sink
from holdfast.sinks.plain.sink import PlainDelta

QUERY_ID = Option(
    flag="--query-id",
    field="query_id",
    metavar="ID|NAME",
    help="Of a plain stream without a checkpoint: which query of the event log it was.",
)


def plan_given_back(now: StreamNow, asked: str) -> Plan | NoPlan | None:
    """Plan to give the checkpoint of a plain stream back; None if it already fits its sink.

    Args:
        now: The stream, as it is now.
        asked: The id or the name of its query; empty if none was given.

    Raises:
        HoldfastError: The event log or the sink cannot be read.
    """
    found = give_back(now, asked)
    if isinstance(found, NoPlan):
        is_shown = found.reason.startswith("the ")  # a sink, as people know it
        return replace(found, reason=f"The {found.reason[4:]}") if is_shown else found
    if not found.tree.contents and not found.tree.leaves_out:
        return None
    sources = look_at_sources(now, found.position)
    draft = Draft(now=now, plan_id=new_plan_id())
    outputs = _take_out(draft, found, sources) if found.position.takes_out else []
    if isinstance(outputs, NoPlan):
        return outputs
    add_checkpoint(draft, found.tree, outputs)
    part = Part(
        steps=tuple(draft.steps),
        impact=_impact(now, found, sources),
        needs=(*draft.needs, _unguarded(now, found)),
        roots=roots_of(now),
    )
    heading = Heading(
        goal="resume",
        summary=_summary(now, found),
        undo="What was at the place of the checkpoint, and the sink as it was.",
        afterwards=("Start the program as before: nothing in it has to change.",),
    )
    return put_together(heading, (now,), (part,), plan_id=draft.plan_id)


def _summary(now: StreamNow, found: GivenBack) -> str:
    lost = "was lost" if now.case.newest_planned < 0 else "has lost entries"
    said = f"The checkpoint of {now.stream} {lost}. It is given back exactly."
    return f"{said} {found.position.story}." if found.position.story else said


def _unguarded(now: StreamNow, found: GivenBack) -> Need:
    """Return what the event log tells of whether the stream is stopped."""
    history = found.known.history
    signs = find_signs(replace(now.case, event_log=history))
    times = [moment_ms(each.at) for each in history.batches]
    began = [datetime.fromtimestamp(each / 1000, tz=UTC) for each in times if each is not None]
    signs = replace(signs, pause_s=signs.pause_s or usual_pause(began))
    return Need(permission=Permission.UNGUARDED, stream=now.stream, why=signs.say())


def _impact(now: StreamNow, found: GivenBack, sources: SourcesNow) -> Impact:
    """Return what the plan does to the stream, and what it was decided by."""
    facts = [
        PlanFact(name="last batch", what=found.position.last),
        PlanFact(name="continues", what=found.continues),
    ]
    facts += [PlanFact(name="not looked at", what=each) for each in sources.unknown]
    return Impact(
        stream=now.stream,
        position=found.continues,
        changes=tuple(Change(kind="loses", what=each) for each in sources.lost),
        facts=tuple(facts),
    )


def _take_out(draft: Draft, found: GivenBack, sources: SourcesNow) -> list[Step] | NoPlan:
    """Return the steps that take batches out of the sink whose range nothing tells."""
    now, base = draft.now, found.position.batch.batch_id
    if sources.lost:
        return NoPlan(
            reason=f"{found.position.story}. But {sources.lost[0]}: rows that are taken out would "
            "not come back."
        )
    shown = found.output.display_name
    if isinstance(found.output, DeltaOutput):
        steps = _restore(draft, found, base)
    else:
        steps = _cut(draft, found, base)
    if isinstance(steps, NoPlan):
        return steps
    why = (
        f"{shown} loses the rows of batches after {base}, until they are read again. Streams that "
        "read it see both."
    )
    if sources.unknown:
        why += " Whether the source still has them was not looked at."
    draft.needs.append(Need(permission=Permission.DESTRUCTIVE, stream=now.stream, why=why))
    return steps


def _restore(draft: Draft, found: GivenBack, batch: int) -> list[Step] | NoPlan:
    now = draft.now
    table = PlainDelta(path=found.output.location, query_id=found.known.query_id).describe()
    sink = look_at_sink(table, now.stream, now.options)
    version = sink.versions.get(batch)
    if version is None:
        why = sink.unreadable or f"its log does not say which version has batch {batch}"
        return NoPlan(reason=f"{found.position.story}. But {sink.display_name} cannot: {why}")
    output = restored(sink, version, draft.aside(1))
    return [settle(draft, sink, output, query_id=found.known.query_id)]


def _cut(draft: Draft, found: GivenBack, batch: int) -> list[Step] | NoPlan:
    now = draft.now
    place = next(each for each in now.directories if each.output == found.output)
    tree = cut_output(place, batch, now.options)
    if isinstance(tree, NoPlan):
        return tree
    return list(exchange_output(draft, place, tree, number=1))


def find_planned_again(now: StreamNow) -> int | None:
    """Return the first batch that a repair lets Spark plan anew although it can have run."""
    planned, committed = now.case.newest_planned, now.case.newest_committed
    if committed > planned >= 0:
        return planned + 1
    if isinstance(now.case.checkpoint.offsets.get(BatchId(planned)), Unparsed):
        return planned if committed < planned else None
    lone = [
        int(number)
        for path in now.case.checkpoint.lone_sidecars
        if path.startswith(f"{OFFSETS}/.")
        and (number := path.removeprefix(f"{OFFSETS}/.").removesuffix(".crc")).isdecimal()
    ]
    return min((each for each in lone if each > planned), default=None)


def refuse_skipping(now: StreamNow, batch: int) -> NoPlan | None:
    """Refuse to let Spark plan a batch anew whose number the sink has; None if it has not.

    Args:
        now: The stream, as it is now.
        batch: The first one that is planned anew.
    """
    if not skips_batch(now.case, now.query_id, batch):
        return None
    return NoPlan(
        reason=f"offsets/{batch} is gone or damaged, and the sink has batch {batch}. Spark would "
        "plan it again with another range, and the sink would skip that: rows would be lost "
        "without an error. The event log has the ranges: add --event-log. Or restore the file."
    )


def skips_unless_known(now: StreamNow, batch: int) -> tuple[Need, ...]:
    """Return the permission that a plain stream needs if nobody looked for a batch in its sink."""
    is_known = skips_batch(now.case, now.query_id, batch) is not None or not now.by_hand
    if not now.is_plain or is_known:
        return ()
    why = (
        f"Whether the sink has batch {batch} is not known: name it with --sink. Spark's own sinks "
        "leave out a batch that they have, with what has arrived since."
    )
    return (Need(permission=Permission.SKIPS_DATA, stream=now.stream, why=why),)
