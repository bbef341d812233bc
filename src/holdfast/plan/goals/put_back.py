"""What becomes of the sinks, and of the streams that read them, when a stream goes back."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.ledger.output import KeepOutput, Output, RestoreOutput
from holdfast.plan.draft import Part
from holdfast.plan.goals.outputs import KEEP, OutputChoice, ResetRequest
from holdfast.plan.goals.position import FRESH, find_position
from holdfast.plan.goals.refusals import refuse_shared
from holdfast.plan.goals.reset import reset_part
from holdfast.plan.plan_file import Need, NoPlan
from holdfast.plan.steps import Permission
from holdfast.plan.world import SinkNow, StreamNow


def rollback_output(
    sink: SinkNow, stream: str, *, batch: int, output: str, aside: str
) -> Output | NoPlan:
    """Return what becomes of a sink that goes back to a batch."""
    if sink.row is not None and sink.row.last_batch < batch:
        held = f"{sink.display_name} holds batches of {stream} up to {sink.row.last_batch} only"
        return NoPlan(reason=f"{held}: what comes after them, up to batch {batch}, would be lost.")
    if output == KEEP or sink.row is None or sink.row.last_batch == batch:
        return KeepOutput()
    version = None if sink.others else sink.versions.get(batch)
    if sink.contract.keys and (version is None or sink.contract.sequence_by is None):
        # An upsert gets the same rows again, and ends the same.
        return KeepOutput()
    if sink.others or sink.backfills:
        # An older version may lack what a backfill has written since.
        return refuse_shared(sink)
    if version is None:
        return NoPlan(
            reason=f"{sink.display_name} has no version of batch {batch} of {stream}, so its rows "
            f"cannot be put back. With --output {KEEP} it keeps the rows of later batches, and "
            f"gets them again: `holdfast apply` then asks for --allow repeats-data:{stream}.",
            needs_kept_output=True,
        )
    # Delta keeps older versions itself; elsewhere rows are copied into a table of this name.
    return RestoreOutput(kept=version, aside=sink.table or aside if sink.keeps_versions else aside)


def say_put_back(sink: SinkNow, output: Output, to: str) -> str:
    """Say what becomes of a sink.

    Args:
        sink: As it is now.
        output: What becomes of its rows.
        to: What it goes back to, when it does.
    """
    if isinstance(output, RestoreOutput):
        return f"{sink.display_name} goes back to {to} (its version {output.kept})"
    return f"{sink.display_name} keeps its rows{_say_merged(sink)}"


def _say_merged(sink: SinkNow) -> str:
    """Say what a table that merges by keys makes of rows that come again, perhaps corrected."""
    if not sink.contract.keys:
        return ""
    order = sink.contract.sequence_by
    if order is None:
        return ": rows of the same keys replace them; a key that does not come again stays"
    return (
        f": of two rows with the same key and the same {order} the larger one stays: a corrected "
        "row may not replace the one that is there"
    )


def needs_of(now: StreamNow, sink: SinkNow, output: Output, *, rows: str) -> Iterator[Need]:
    """Yield the permission that a sink needs which goes back.

    Args:
        now: The stream.
        sink: As it is now.
        output: What becomes of its rows.
        rows: Of which batches it loses the rows, or gets them again.
    """
    if isinstance(output, RestoreOutput):
        why = f"{sink.display_name} loses the rows of {rows}, until they have run again."
        yield Need(permission=Permission.DESTRUCTIVE, stream=now.stream, why=why)
    elif not sink.contract.keys:
        why = f"{sink.display_name} keeps the rows of {rows}, and gets them again."
        yield Need(permission=Permission.REPEATS_DATA, stream=now.stream, why=why)


def needs_for_unledgered_sinks(now: StreamNow, what: str) -> Iterator[Need]:
    """Yield the permission to write batches again to sinks that cannot tell them."""
    if now.sinks and not now.unseen:
        return
    which = f"The sinks {', '.join(now.unseen)} keep no ledger" if now.unseen else ""
    why = f"{which or f'The sinks of {now.stream} are not known'}, and get {what} again."
    yield Need(permission=Permission.REPEATS_DATA, stream=now.stream, why=why)


def reset_below(below: tuple[StreamNow, ...], *, plan_id: str) -> tuple[Part, ...] | NoPlan:
    """Return the resets of streams that read an output which goes back."""
    asked = ResetRequest(start=FRESH, output=OutputChoice.TRUNCATE, outputs={})
    parts: list[Part] = []
    for each in below:
        position = find_position(each, FRESH)
        if isinstance(position, NoPlan):
            return position
        found = reset_part(each, position, asked, plan_id=plan_id)
        if isinstance(found, NoPlan):
            return found
        parts.append(found)
    return tuple(parts)
