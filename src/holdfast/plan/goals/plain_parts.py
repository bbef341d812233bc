"""What every goal of a plain stream repeats: its checkpoint at its place, and its outputs.

The checkpoint is held first, so that no program starts from it. Then the outputs are brought to
their named state. The new checkpoint is put in last: from then on Spark starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from shlex import quote

import msgspec

from holdfast.checkpoint.layout import METADATA, STATE
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.coverage import NOTHING_READ
from holdfast.ledger.output import EmptyOutput, Output, RestoreOutput
from holdfast.ledger.row import NO_BATCH, Binding, LedgerRow
from holdfast.plan.draft import Draft, settle_sink
from holdfast.plan.plain import OutputDirectory, find_fixed_application
from holdfast.plan.plan_file import Need, NoPlan, Plan
from holdfast.plan.steps import ByHand, FillTree, Permission, Step
from holdfast.plan.trees import hold_tree, in_phases
from holdfast.plan.world import SinkNow, StreamNow
from holdfast.record.layout import HOME, KEPT, kept_path
from holdfast.storage.location import Location, is_inside
from holdfast.storage.open import open_reader

_HELD = (
    "Until the plan has ended, Spark cannot read this checkpoint, and no program starts from it."
)
_SETTLED = "The output is brought to the state that the new checkpoint goes on from."
_ASIDE = "Data and log of the file sink go together, and are kept."


def start_again(begun_anew: Iterable[StreamNow], *, renamed: Iterable[str] = ()) -> tuple[str, ...]:
    """Return what is left to do before the programs run, with those that begin anew.

    Args:
        begun_anew: Streams that get an empty checkpoint.
        renamed: Names of streams that are to write somewhere else.

    Spark 4.2 does not begin a query with state whose `state` lists anything, be it a directory
    without files. On S3 and Google Cloud Storage those are objects of their own.
    """
    return (
        *(
            f"Before {each.stream} starts, remove what marks directories in its old state. Spark "
            "does not begin beside it (STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY), and the state "
            "itself is kept with the old checkpoint: "
            f"{remover} {quote(str(each.checkpoint.location.join(STATE)))}"
            for each in begun_anew
            if each.is_stateful and (remover := each.checkpoint.location.kind.directory_remover)
        ),
        _last_word(tuple(renamed)),
    )


def _last_word(renamed: tuple[str, ...]) -> str:
    if not renamed:
        return "Start the programs as before: nothing in them has to change."
    return (
        f"Name another output in the code of {', '.join(renamed)}, and another txnAppId where it "
        "sets one. Then start the programs: with the old output, rows would be repeated or left "
        "out."
    )


class NewTree(msgspec.Struct, frozen=True, kw_only=True):
    """What a directory has afterwards."""

    contents: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What is written, by path."""
    leaves_out: tuple[str, ...] | None = None
    """Of what is there now: what does not stay; None: nothing stays."""


def exchange(
    draft: Draft, place: Location, tree: NewTree, *, marker: str, aside: Location
) -> tuple[Step, FillTree]:
    """Return the steps that hold a directory, and that put in what it has afterwards."""
    stream, there = draft.now.stream, open_reader(place, draft.now.options)
    held = hold_tree(stream, there, str(aside), marker=marker, why=_HELD if marker else _ASIDE)
    filled = FillTree(
        stream=stream,
        place=str(place),
        fingerprint=held.fingerprint,
        source=None if tree.leaves_out is None else str(aside),
        leaves_out=() if tree.leaves_out is None else tree.leaves_out,
        contents=dict(tree.contents),
        marker=marker,
        why="What the stream goes on from." if marker else "What stays of the output.",
    )
    return held, filled


def add_checkpoint(
    draft: Draft, tree: NewTree, outputs: list[Step], *, is_renamed: bool = False
) -> None:
    """Add the steps that put another checkpoint in its place, around those of its outputs.

    Args:
        draft: Of the stream.
        tree: The other checkpoint.
        outputs: What brings the outputs to what it goes on from.
        is_renamed: Whether the stream writes somewhere else from then on.
    """
    now = draft.now
    aside = now.record.location.join(kept_path(draft.plan_id, 1))
    held, filled = exchange(draft, now.checkpoint.location, tree, marker=METADATA, aside=aside)
    if not outputs and not is_renamed:
        names = [sink.display_name for sink in now.sinks]
        names += [each.output.display_name for each in now.directories]
        logs = [str(each.location) for each in now.directories if each.output.has_log]
        filled = msgspec.structs.replace(filled, stays=tuple(names), stays_with_log=tuple(logs))
    draft.steps += [held, *outputs, filled]
    draft.needs += [
        Need(permission=Permission.BY_HAND, stream=now.stream, why=f"{each}.")
        for each in now.by_hand
    ]


def hold_first(plan: Plan) -> Plan:
    """Return a plan that holds the checkpoints of all its streams before it changes an output."""
    return msgspec.structs.replace(plan, steps=in_phases(plan.steps))


def settle(draft: Draft, sink: SinkNow, output: Output, *, query_id: str) -> Step:
    """Return the step that brings a table to a named state."""
    before = 0 if sink.row is None else sink.row.generation
    row = LedgerRow(
        stream=draft.now.stream,
        sink="",
        generation=before + 1,
        epoch=0,
        nonce="",
        binding=Binding(query_id=QueryId(query_id), checkpoint=draft.now.place),
        last_batch=BatchId(NO_BATCH),
        digest=None,
        end_offsets=NOTHING_READ,
    )
    return settle_sink(draft.now, sink, row, output=output, why=_SETTLED)


def emptied(sink: SinkNow, aside: str) -> EmptyOutput:
    """Return that a table is emptied; Delta keeps its version, elsewhere rows are copied."""
    return EmptyOutput(kept=sink.table or "" if sink.keeps_versions else aside)


def restored(sink: SinkNow, version: str, aside: str) -> RestoreOutput:
    """Return that a table goes back to a version."""
    return RestoreOutput(kept=version, aside=sink.table or aside)


def exchange_output(
    draft: Draft, directory: OutputDirectory, tree: NewTree, *, number: int
) -> tuple[Step, ...]:
    """Return the steps that exchange the files of an output; they are kept beside it.

    Args:
        draft: Of the stream.
        directory: Of a file sink.
        tree: What it has afterwards.
        number: Of the directory among those of the stream, from 1.
    """
    place = directory.location
    name = f"{draft.now.stream}-{number}"
    aside = (place.parent or place).join(HOME, KEPT, draft.plan_id, name)
    held, filled = exchange(draft, place, tree, marker="", aside=aside)
    is_filled = tree.leaves_out is not None or bool(tree.contents)
    return (held, filled) if is_filled else (held,)


def by_hand(now: StreamNow, what: str) -> Iterator[Step]:
    """Yield what is left to a person, for each output that Holdfast cannot change.

    Args:
        now: The stream.
        what: What to do to it.
    """
    for each in now.by_hand:
        why = "Holdfast cannot do it: whoever applies the plan says that it is done."
        yield ByHand(stream=now.stream, what=f"{what}: {each}", why=why)


def roots_of(now: StreamNow) -> tuple[str, ...]:
    """Return the outputs that a plan changes outside the root of its checkpoint."""
    places = [each.location for each in now.directories]
    return tuple(str(each) for place in places for each in (place, place.parent or place))


def newest_logged(now: StreamNow) -> int | None:
    """Return the newest batch in the logs of the file sinks; None when there is no such log.

    Spark's file sink writes no batch with a number up to that, whichever query it is of, and says
    nothing of it.
    """
    found = [each.output.newest for each in now.directories]
    return max((newest for newest in found if newest is not None), default=None)


def refuse_plain(now: StreamNow) -> NoPlan | None:
    """Return why the outputs of a plain stream cannot go back or be emptied; None if they can."""
    refused = now.refuse_unreadable() or _refuse_nested(now)
    fixed = find_fixed_application(now.case, now.query_id)
    if refused is None and fixed is not None:
        return NoPlan(
            reason=f"The code of {now.stream} writes with the fixed txnAppId {fixed}: Delta would "
            "leave out every batch that runs again under it, without an error. Change the "
            "txnAppId in the code together with the plan, and ask for --output new-table.",
        )
    return refused


def _refuse_nested(now: StreamNow) -> NoPlan | None:
    """Return why an output cannot be emptied that holds something else; None if all can."""
    places = [now.checkpoint.location, *(each.location for each in now.directories)]
    for number, one in enumerate(places):
        for other in places[number + 1 :]:
            if is_inside(one, other) or is_inside(other, one):
                return NoPlan(
                    reason=f"{one} and {other} are one inside the other: what is done to one of "
                    "them would be done to both. Name the directory that the file sink writes to."
                )
    return None
