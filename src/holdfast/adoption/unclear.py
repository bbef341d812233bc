"""What was not known of a stream that is to be adopted, each with how to find it out."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.adoption.into_sink import NoSink
from holdfast.adoption.look import PlainStream
from holdfast.adoption.model import BatchHolding, PendingBatch, Unclear
from holdfast.adoption.program import ProgramOfStream
from holdfast.rules.rule import Needs

_PROBE = "Add --probe, with --source WHERE for each source."
_DIAGNOSE = "Run `holdfast diagnose` with the same options."


def find_unclear(found: PlainStream, pending: PendingBatch) -> tuple[Unclear, ...]:
    """Return what was not known."""
    start = () if found.start is None else found.start.unclear
    return (*start, *_of_sink(found), *_of_stream(found, pending))


def _of_sink(found: PlainStream) -> Iterator[Unclear]:
    into = found.into
    if isinstance(into, NoSink):
        if not into.is_certain:
            yield Unclear(what=into.why, how=into.how)
    elif into.is_assumed:
        what = "whether the table is one of Delta: the code does not say it"
        yield Unclear(what=what, how="Name its location: --sink LOCATION.")
    if found.sink is not None and found.start is None and found.taken is None:
        what = "where the table is: the code names it by a catalog, or computes its path"
        yield Unclear(what=what, how="Name its location: --sink LOCATION.")


def _of_stream(found: PlainStream, pending: PendingBatch) -> Iterator[Unclear]:
    judged = found.judged
    if not isinstance(found.program, ProgramOfStream):
        what = "the trigger, and the lines of the program to change"
        yield Unclear(what=what, how="Name the program: --code FILE.")
    if pending.holding is BatchHolding.NOT_KNOWN:
        what = f"whether the sink holds batch {pending.batch}: {pending.where}"
        yield Unclear(what=what, how="Look for its rows: *covers* above says which they are.")
    if Needs.SOURCE in judged.not_asked:
        yield Unclear(what="whether the sources still have what comes next", how=_PROBE)
    if Needs.STATE in judged.not_asked:
        yield Unclear(what="what is in the state files", how="Add --deep.")
    for each in judged.not_judged:
        yield Unclear(what=each.rstrip("."), how=_DIAGNOSE)
