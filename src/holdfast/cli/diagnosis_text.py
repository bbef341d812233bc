"""`holdfast diagnose` for people: the verdict first, then findings, facts and what is not known."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from holdfast.cli.table import columns
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Goal, Severity
from holdfast.judgement.fact import Fact
from holdfast.judgement.judge import Judgement, Verdict
from holdfast.rules import Finding, Needs
from holdfast.rules.commands import plan_command, sink_options
from holdfast.wording import count

_CERTAIN = {
    Verdict.LOSES: "Restarting now loses data",
    Verdict.REPEATS: "Restarting now repeats data",
    Verdict.ALTERS: "Restarting now gives wrong results",
    Verdict.FAILS: "It will not start: every attempt fails",
}
_POSSIBLE = {
    Verdict.LOSES: "Restarting now may lose data",
    Verdict.REPEATS: "Restarting now may repeat data",
    Verdict.ALTERS: "Restarting now may give wrong results",
    Verdict.FAILS: "It may not start",
}
_ROWS = ("record", "row")
_NOT_ASKED = {
    Needs.SOURCE: "the source (--probe)",
    Needs.OUTPUT: "the sink (--sink LOCATION)",
    Needs.STATE: "what is in the state files (--deep)",
}
_ASK = {
    Needs.SOURCE: "whether the source still has the data: add --probe",
    Needs.OUTPUT: "what the sink holds: add --sink LOCATION",
    Needs.STATE: "whether every state file can be read to its end: add --deep",
}


def say_verdict(found: Judgement) -> str:
    """Return the answer in one line."""
    record = found.case.record
    if record is None or not record.is_running:
        return _say_verdict(found)
    return (
        f"{record.stream} is running: a second start waits for its lease, and ends in LEASE_HELD. "
        f"If you stop it: {_say_verdict(found)}"
    )


def _say_verdict(found: Judgement) -> str:
    if found.verdict in _CERTAIN:
        return f"{_say_effect(found)}.{_say_blocked(found)}"
    if found.verdict is Verdict.NOTHING:
        return say_nothing(found.case)
    if found.verdict is Verdict.UNKNOWN:
        because = getattr(found.case.next_start, "because", "") or "; ".join(found.not_judged[:1])
        return f"Whether a restart is safe is not known: {because.rstrip('.')}."
    if found.not_asked:
        looked = "the checkpoint" if found.case.stream is None else "checkpoint and ledgers"
        unasked = ", ".join(_NOT_ASKED[each] for each in found.not_asked)
        return f"Nothing in {looked} speaks against a restart. Not looked at: {unasked}."
    compared = "Rows were not compared: `holdfast prove` does that."
    return f"Safe to restart: the restart itself loses and repeats nothing. {compared}"


def say_nothing(case: Case) -> str:
    """Say that there is no checkpoint."""
    below = "`holdfast inspect` lists the checkpoints below a directory"
    said = f"There is no checkpoint at {case.checkpoint.location}. Check the path; {below}."
    if case.root is not None:
        return said
    log = "DIRECTORY" if case.event_log is None else quote(case.event_log.location)
    options = (f"--event-log {log}", *sink_options(case))
    command = plan_command(case, Goal.RESUME, *options)
    return f"{said} If it was deleted, do not start the stream: {command} can give it back."


def _say_effect(found: Judgement) -> str:
    is_certain = found.is_certain and found.decided_by is not None
    said = (_CERTAIN if is_certain else _POSSIBLE)[found.verdict]
    amount = None if found.decided_by is None else found.decided_by.amount
    if amount is None:
        return said
    rows = "" if amount.unit in _ROWS else "the rows of "
    return f"{said}: {rows}{count(amount.number, amount.unit)}"


def _say_blocked(found: Judgement) -> str:
    """Say that Spark fails as well, where the answer is about the data."""
    blocking = [
        each.code
        for each in found.findings
        if each.severity is Severity.BLOCKS_RESTART and each.confidence is not Confidence.LIKELY
    ]
    is_said = found.verdict is Verdict.FAILS
    return "" if is_said or not blocking else f" And every start fails ({blocking[0]})."


def render_diagnosis(found: Judgement, *, notes: bool) -> list[str]:
    """Return the lines to show.

    Args:
        found: What was found.
        notes: Whether each note is shown, not only their codes.
    """
    lines = [say_verdict(found), ""]
    is_there = found.verdict is not Verdict.NOTHING
    shown = [each for each in found.findings if notes or each.severity is not Severity.NOTE]
    for each in shown:
        lines += _finding(each)
    folded = [f"{each.code} {each.name}" for each in found.findings if each not in shown]
    if folded and is_there:
        lines += [f"  {count(len(folded), 'note')} (--notes): {', '.join(folded)}", ""]
    lines += render_facts(found.facts) if is_there else []
    unknown = say_unknown(found) if is_there else found.not_judged
    if unknown:
        lines += ["", *columns([("  not known", each) for each in unknown])]
    return lines[:1] if lines[1:] == [""] else lines


def say_unknown(found: Judgement) -> list[str]:
    """Return what was not judged, and what nobody asked for."""
    return [*found.not_judged, *(_ASK[each] for each in found.not_asked)]


def render_facts(facts: tuple[Fact, ...]) -> list[str]:
    """Return the nine facts as a table."""
    return columns(
        [
            (f"  {each.number if each.number < 10 else '':>1}", each.name, *_value(each))
            for each in facts
        ]
    )


def _value(fact: Fact) -> tuple[str, ...]:
    if fact.value is None:
        return (f"not known. {say_where(fact)}",)
    return (fact.value, say_where(fact))


def say_where(fact: Fact) -> str:
    """Say where a fact was read, and the command that would tell it or the rest of it."""
    if fact.command is None:
        return fact.where
    asks = ". To find out" if fact.value is None else "; for the rest"
    return f"{fact.where}{asks}: `{fact.command}`"


def _finding(finding: Finding) -> Iterator[str]:
    likely = "" if finding.confidence is Confidence.CERTAIN else f" ({finding.confidence})"
    yield f"  {finding.severity:14}  {finding.code} {finding.name}{likely}"
    yield f"    {finding.what}"
    goal = "What to do" if finding.goal is Goal.NONE else f"What to do ({finding.goal})"
    yield f"    {goal}: {finding.how}"
    yield ""
