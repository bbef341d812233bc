"""`holdfast adopt` for people: the answer first, then where it goes on, what to do, the change."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.adoption.model import Adoption, AdoptionVerdict, BatchHolding, ProgramChange
from holdfast.cli.sarif import say
from holdfast.cli.table import columns

_HOLDINGS = {
    BatchHolding.HELD: "is held by the sink",
    BatchHolding.NOT_HELD: "is not held by the sink",
    BatchHolding.PARTLY: "is partly in the sink",
    BatchHolding.NOT_KNOWN: "may or may not be in the sink",
}


def render_adoption(found: Adoption) -> list[str]:
    """Return the lines to show."""
    if found.query_id is None and found.next_batch == 0:
        return [say(say_answer(found))]  # there is no checkpoint
    lines = [say_answer(found), "", *columns(list(_rows(found)))]
    if found.todo:
        lines += ["", "What to do first:"]
        lines += [f"  {number}. {each.what}" for number, each in enumerate(found.todo, start=1)]
    others = [each for each in found.others if not each.refuses_start]
    if others:
        lines += ["", "Also found (`holdfast diagnose` has more):"]
        lines += [f"  {each.code} {each.name}: {each.what}" for each in others]
    if found.not_known:
        lines += ["", "Not known:"]
        lines += [f"  {each.what}. {each.how}" for each in found.not_known]
    is_changed = found.verdict is not AdoptionVerdict.NOT
    return [*map(say, lines), *(_change(found) if is_changed else ())]


def say_answer(found: Adoption) -> str:
    """Return the answer in one line."""
    stream = found.stream.value
    match found.verdict:
        case AdoptionVerdict.NOT:
            return f"{stream} cannot be adopted: {found.why}."
        case AdoptionVerdict.UNKNOWN:
            return f"Whether {stream} can be adopted is not known: {found.why}."
        case AdoptionVerdict.AFTER:
            steps = "; ".join(each.short for each in found.todo)
            return f"{stream} can be adopted after this: {steps}."
        case _:
            return f"{stream} can be adopted as it stands. {_say_next(found)}"


def _say_next(found: Adoption) -> str:
    if found.next_batch is None:
        return "What Spark does at the first start is not known."
    if found.pending.batch == found.next_batch:
        return f"The first guarded start runs batch {found.next_batch} again, with the same range."
    return f"The first guarded start begins batch {found.next_batch}."


def _rows(found: Adoption) -> Iterator[tuple[str, ...]]:
    yield "  stream", found.stream.value, found.stream.where
    yield "  root", found.root.value, found.root.where
    yield "  checkpoint", found.checkpoint, "it stays where it is"
    query = found.query_id or "not known"
    yield "  query id", query, "metadata: it stays the same"
    adopted = f"{found.generation}, adopted; batches from {found.first_batch} on are Holdfast's"
    yield "  generation", adopted
    yield "  goes on", _say_next(found)
    for each in found.offsets:
        yield "  offsets", each
    if found.pending.batch is not None:
        yield "  pending", f"batch {found.pending.batch} {_HOLDINGS[found.pending.holding]}"
        for each in found.pending.covers:
            yield "    covers", each
        yield "    known by", found.pending.where
        if found.pending.then:
            yield "    then", found.pending.then
    if found.sink is not None:
        yield "  into", found.sink.value, found.sink.where
    yield "  old query", found.signs
    yield "", _say_fence(found)
    if found.sink is not None:
        yield "  first start", _say_questions(found)


def _say_fence(found: Adoption) -> str:
    if found.fences_old_writer is None or found.verdict is AdoptionVerdict.UNKNOWN:
        return "Whether the sink can fence it is not known."
    if found.fences_old_writer:
        return "The first start fences it: Delta skips what it still commits."
    return "The sink cannot fence it: make sure that its driver is gone."


def _say_questions(found: Adoption) -> str:
    if not found.asks and found.verdict is AdoptionVerdict.UNKNOWN:
        return "not known what it asks"
    if not found.asks:
        return "asks nothing"
    codes = ", ".join(dict.fromkeys(each.code for each in found.asks))
    return f"is refused with {codes}, and prints what accepts them"


def _change(found: Adoption) -> list[str]:
    change: ProgramChange = found.change
    notes = [say(f"  {each}") for each in change.notes]
    notes = ["", "About the change:", *notes] if notes else []
    if change.diff is not None:
        patch = "patch -p1 -d /" if (change.place or "").startswith("/") else "patch -p1"
        apply = f"Stop the old query, then change the program with `{patch}` and start it:"
        return [*notes, "", apply, *change.diff.rstrip("\n").split("\n")]
    where = f" in {change.place}" if change.place else ""
    head = say(f"Stop the old query, then write this by hand{where} ({change.by_hand}):")
    call = [f"    {say(each)}" for each in f"query = {change.call}".split("\n")]
    return [*notes, "", head, "    import holdfast as hf", "", *call]
