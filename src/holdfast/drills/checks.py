"""What a history is checked for: each check reads it alone and returns a verdict.

A check that crashes is UNKNOWN. One that has nothing to compare is NOT_CHECKED, never PASS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property

from holdfast.drills.batch_runs import BatchRun, batch_runs
from holdfast.drills.history import (
    Ended,
    Happened,
    History,
    Looked,
    Planned,
    Reached,
    Row,
    Started,
)
from holdfast.drills.verdict import Checked, DrillVerdict
from holdfast.proof.multiset import Difference, compare

NOT_CHECKED, PASS, UNKNOWN, FAIL = DrillVerdict
READER, JUDGE = "reader", "judge"
"""Who looks: beside the driver, or when it is dead."""
KEPT = "state"
"""What a stream keeps for itself, looked at like a sink, in the end."""


class Past:
    """A history as checks read it."""

    def __init__(self, history: History) -> None:
        self.events: list[Happened] = history.events()
        self.content: Callable[[str], list[Row]] = cache(history.content)

    @cached_property
    def planned(self) -> dict[str, Planned]:
        """What each sink must hold."""
        plans = [each for each in self.events if isinstance(each, Planned)]
        return {each.sink: each for each in plans if each.sink != KEPT}

    @cached_property
    def asked(self) -> dict[int, Started]:
        """What each run was started for."""
        return {each.run: each for each in self.events if isinstance(each, Started)}

    @cached_property
    def ended(self) -> dict[int, Ended]:
        """How each run ended."""
        return {each.run: each for each in self.events if isinstance(each, Ended)}

    @cached_property
    def looks(self) -> list[Looked]:
        """Everything that was seen in a sink, in its order."""
        looks = [each for each in self.events if isinstance(each, Looked)]
        return [each for each in looks if each.sink != KEPT]

    @cached_property
    def last(self) -> dict[str, Looked]:
        """What was in each sink when the last driver was gone."""
        return {each.sink: each for each in self.looks if each.by == JUDGE}

    @cached_property
    def kept(self) -> tuple[Planned | None, Looked | None]:
        """What the state must be in the end and what it was, as far as known."""
        must, was = None, None
        for each in self.events:
            if isinstance(each, Planned) and each.sink == KEPT:
                must = each
            elif isinstance(each, Looked) and each.sink == KEPT:
                was = each
        return must, was

    def batches(self, run: int) -> list[BatchRun]:
        """Return the batches that a run completed."""
        reached = (each for each in self.events if isinstance(each, Reached))
        points = [(each.at, each.point) for each in reached if each.run == run]
        (found,) = batch_runs([points])
        return [each for each in found if each.ended is not None]

    def difference(self, look: Looked) -> Difference:
        """Compare what was seen with what must be there, after the parts that it tells of."""
        contents = self.planned[look.sink].contents
        parts = len(contents) - 1 if look.parts is None else look.parts
        return compare(self.content(contents[parts]), self.content(look.content))


Found = tuple[DrillVerdict, str]
"""What a check says, and what it saw, in words."""
Check = Callable[[Past], Found]


def check_history(history: History) -> list[Checked]:
    """Run every check."""
    past = Past(history)
    return [_run(name, check, past) for name, check in CHECKS.items()]


def count_rows(history: History) -> tuple[int, int, int]:
    """Return how many rows were lost, duplicated and unexpected, where it was worst."""
    found = [difference for _, difference in _judged(Past(history))]
    return (
        max((each.missing for each in found), default=0),
        max((each.duplicated for each in found), default=0),
        max((each.foreign for each in found), default=0),
    )


def _run(name: str, check: Check, past: Past) -> Checked:
    try:
        verdict, told = check(past)
    except Exception as error:  # noqa: BLE001 - whatever it is, the check could not look
        verdict, told = UNKNOWN, f"the check itself failed: {error!r}"
    return Checked(check=name, verdict=verdict, told=told)


def _fired(past: Past) -> Found:
    """Every kill struck at its point; else what follows was not tested."""
    for run, asked in past.asked.items():
        if run not in past.ended:
            return UNKNOWN, f"driver {run} has no end"
        end = past.ended[run]
        if asked.point is not None and not (end.is_killed and end.fired == asked.point):
            ended = f"driver {run} ended with {end.how}"
            return UNKNOWN, f"the kill {asked.point} did not happen: {ended}"
    kills = sum(asked.point is not None for asked in past.asked.values())
    return PASS, f"{kills} kills happened where they were meant to"


def _starts_again(past: Past) -> Found:
    """The last run goes to its end: a stream that does not start again is stuck.

    One that still ran batches at its time limit may only be slow.
    """
    last = max(past.asked)
    end = past.ended[last]
    if end.is_well:
        return PASS, "the last driver started and ran to its end"
    how = f"the last driver ended with {end.how}{': ' if end.error else ''}{end.error}"
    if end.timed_out and past.batches(last):
        return UNKNOWN, f"{how}; it was still running batches"
    has_run = any(each.fired for each in past.ended.values())
    return (FAIL, f"stuck: {how}") if has_run else (UNKNOWN, f"the stream never ran: {how}")


def _goes_on(past: Past) -> Found:
    """At the end every sink's ledger covers the whole source."""
    for sink, planned in past.planned.items():
        parts, wanted = past.last[sink].parts, len(planned.contents) - 1
        if parts not in (None, wanted):
            return FAIL, f"the ledger of {sink} covers {parts} of {wanted} parts of the source"
    if all(past.last[sink].parts is None for sink in past.planned):
        return NOT_CHECKED, "the drill reads no ledger of this sink"
    return PASS, "every ledger covers the whole source"


def _judged(past: Past) -> Iterator[tuple[Looked, Difference]]:
    """Yield how what was seen with the driver dead differs from what must be there.

    A sink without a ledger is judged at the end only: before, what it must hold is unknown.
    """
    ends = {id(look) for look in past.last.values()}
    for look in past.looks:
        if look.by == JUDGE and (look.parts is not None or id(look) in ends):
            yield look, past.difference(look)


def _nothing(count: Callable[[Difference], int], what: str) -> Check:
    """Return a check that counts rows in what was seen whenever the driver was dead."""

    def check(past: Past) -> Found:
        if past.planned.keys() != past.last.keys():
            return UNKNOWN, "the sink was not read at the end"
        for look, difference in _judged(past):
            if found := count(difference):
                return FAIL, f"{found:,} {what} in {look.sink}, after driver {look.run}"
        return PASS, f"0 {what}"

    return check


def _complete_batches(past: Past) -> Found:
    """What is seen is always the batches that a ledger covers: never a part of one."""
    looks = [each for each in past.looks if each.parts is not None]
    for look in looks:
        contents = past.planned[look.sink].contents
        if look.parts is None or look.parts >= len(contents):
            return FAIL, f"the ledger of {look.sink} covers {look.parts} parts; there are fewer"
        if look.content != contents[look.parts]:
            rows = len(past.content(look.content))
            shown = f"{rows:,} rows in {look.sink}, not those of {look.parts} parts"
            return FAIL, f"the {look.by} saw during driver {look.run}: {shown}"
    if not looks:
        return NOT_CHECKED, "the drill reads no ledger that says which batches are there"
    return PASS, f"the sinks were read {len(looks):,} times; every batch was complete"


def _same_state(past: Past) -> Found:
    """The state at the end is what it would be without a kill."""
    must, was = past.kept
    if must is None:
        return NOT_CHECKED, "Spark cannot read this state"
    if was is None:
        return UNKNOWN, "the state was not read at the end"
    contents = (past.content(each) for each in (must.contents[-1], was.content))
    expected, seen = ([row for row in each if row[0] not in must.left_out] for each in contents)
    found = compare(expected, seen)
    if not found.exact:
        wrong = f"{found.missing:,} lost, {found.duplicated:,} duplicated"
        wrong += f", {found.foreign:,} unexpected"
        return FAIL, f"the state diverged: {wrong}, of {found.expected:,} rows"
    left_out = ", ".join(must.left_out)
    ignored = f"not compared, because two undisturbed runs differ: {left_out}"
    if not expected:
        return NOT_CHECKED, ignored if left_out else "the stream has no state at the end"
    same = f"{found.expected:,} rows of state are the same"
    return PASS, f"{same}; {ignored}" if left_out else same


def _in_order(past: Past) -> Found:
    """No key goes back to an older value."""
    newest: dict[tuple[str, object], object] = {}
    for look in past.looks:
        for key, sequence in _keyed(past, look):
            before = newest.get((look.sink, key))
            if before is not None and sequence < before:  # type: ignore[operator]
                return FAIL, f"key {key} of {look.sink} went back from {before} to {sequence}"
            newest[look.sink, key] = sequence
    if not any(planned.key is not None for planned in past.planned.values()):
        return NOT_CHECKED, "no sink has a key and an order"
    return PASS, "no key went back to an older value"


def _keyed(past: Past, look: Looked) -> Iterator[tuple[object, object]]:
    planned = past.planned[look.sink]
    if planned.key is not None and planned.sequence is not None:
        for row in past.content(look.content):
            yield row[planned.key], row[planned.sequence]


CHECKS: dict[str, Check] = {
    "fired": _fired,
    "starts-again": _starts_again,
    "goes-on": _goes_on,
    "nothing-lost": _nothing(lambda found: found.missing, "lost rows"),
    "nothing-duplicated": _nothing(lambda found: found.duplicated, "duplicated rows"),
    "nothing-unexpected": _nothing(lambda found: found.foreign, "unexpected rows"),
    "complete-batches": _complete_batches,
    "in-order": _in_order,
    "same-state": _same_state,
}
