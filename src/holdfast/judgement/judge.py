"""The one judgement of a case: its findings, the verdict on a restart, and what is not known.

Every command and every guarded start reads this value. The verdict is the worst that any finding
says of the data. A rule that failed, and a source or a sink that was asked for and could not be
seen, make a verdict that would be *safe* unknown: unknown is never fine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum, unique
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import NextStart, Refuses, RunsAgain, StartsFresh, Unknown
from holdfast.evidence.outputs.output import NotRead
from holdfast.evidence.progress import sources_behind
from holdfast.evidence.read_at_start import unverified_files
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.redact import redact
from holdfast.rules.catalogue import Catalogue, catalogue_for
from holdfast.rules.rule import Finding, Needs, Rule
from holdfast.sources.probe import NotProbed, SourceProbe

if TYPE_CHECKING:  # few need the nine facts
    from holdfast.evidence.overview import Overview
    from holdfast.judgement.fact import Fact

_UNNAMED_LEDGERS = "the ledgers: the record does not say where every sink of the last run is"
_NO_CHECKSUM = (
    "Spark reads it, and it has no checksum beside it as other entries have: its form is right, "
    "its values were not checked"
)
_ORDER = tuple(Severity)
_ADDRESS, _LONGEST = re.compile(r"0x[0-9a-fA-F]+"), 200


@unique
class Verdict(StrEnum):
    """What a restart does to the data; the worst first."""

    LOSES = "loses-data"
    REPEATS = "repeats-data"
    ALTERS = "alters-data"
    FAILS = "will-not-start"
    UNKNOWN = "not-known"
    NOTHING = "no-checkpoint"
    SAFE = "safe"


ATTENTION = (
    Verdict.LOSES,
    Verdict.FAILS,
    Verdict.ALTERS,
    Verdict.UNKNOWN,
    Verdict.REPEATS,
    Verdict.NOTHING,
    Verdict.SAFE,
)
"""Verdicts in the order in which a person should look at them."""
_OF_EFFECT = {
    Effect.LOSES: Verdict.LOSES,
    Effect.REPEATS: Verdict.REPEATS,
    Effect.ALTERS: Verdict.ALTERS,
    Effect.FAILS: Verdict.FAILS,
}


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one stream or checkpoint before it is restarted."""

    case: Case
    verdict: Verdict
    is_certain: bool
    """Whether the verdict follows from what was read, without an assumption."""
    decided_by: Finding | None
    """The finding that the verdict follows from; None when it follows from none."""
    findings: tuple[Finding, ...]
    """The gravest first."""
    not_judged: tuple[str, ...]
    """What no rule could say, each with the reason."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The nine facts."""
        from holdfast.judgement.facts import find_facts  # noqa: PLC0415 - `inspect` needs none

        return find_facts(self.case)

    @property
    def overview(self) -> Overview:
        """What the checkpoint alone tells.

        Raises:
            ValueError: It is the judgement of a guarded start, in which Spark itself answers.
        """
        if self.case.overview is None:
            raise ValueError("a guarded start has no prediction: Spark itself answers")
        return self.case.overview

    @property
    def next_start(self) -> NextStart | None:
        """What the next start does; None in a guarded start."""
        return self.case.next_start

    @property
    def not_asked(self) -> tuple[Needs, ...]:
        """What some rules look at and nobody asked for."""
        missing = []
        if not self.case.sources and self.case.checkpoint.offsets:
            missing.append(Needs.SOURCE)
        if not self.case.outputs and self.case.stream is None:
            missing.append(Needs.OUTPUT)
        stores = () if self.case.overview is None else self.case.overview.stores
        if any(each.rows is None and not each.damaged for each in stores):
            missing.append(Needs.STATE)
        return tuple(missing)


def judge(case: Case, catalogue: Catalogue | None = None) -> Judgement:
    """Judge a case by every rule that applies, and decide on the verdict.

    A rule that fails becomes a finding that asks: one bug must not stop every start, and what a
    rule would have said must not count as fine.

    Args:
        case: What is known.
        catalogue: What to judge with; by default every rule, those of other packages too.
    """
    catalogue = catalogue or catalogue_for(case)
    found = [each for rule in catalogue.rules for each in _judge_or_ask(rule, case)]
    findings = sorted(found, key=lambda each: (_ORDER.index(each.severity), each.code))
    decided_by = _gravest(findings)
    strange = _find_strange(case) if case.outputs else []
    unnamed = (_UNNAMED_LEDGERS,) if _has_unnamed_ledgers(case) else ()
    behind = tuple(map(_tell_behind, sources_behind(case.checkpoint)))
    unverified = tuple(f"{path}: {_NO_CHECKSUM}" for path in _unverified(case))
    failed = not all(each.is_judged for each in findings)
    is_open = bool(failed or catalogue.not_loaded or strange or behind)
    return Judgement(
        case=case,
        verdict=_verdict(case, decided_by, is_open=is_open),
        is_certain=decided_by is None or decided_by.confidence is Confidence.CERTAIN,
        decided_by=decided_by,
        findings=tuple(findings),
        not_judged=(
            *catalogue.not_loaded,
            *strange,
            *unnamed,
            *behind,
            *unverified,
            *case.not_looked_at,
        ),
    )


def _judge_or_ask(rule: Rule, case: Case) -> Iterator[Finding]:
    try:
        yield from tuple(rule.judge(case))
    except Exception as error:  # noqa: BLE001 - a bug, and a rule of another package, can raise anything
        found = rule.find(
            what=f"{rule.code} was not judged: the rule itself failed "
            f"({_stable(error)}). What it looks for is not known.",
            how=f"Report this as a bug in Holdfast. `holdfast rules explain {rule.code}` says what "
            "the rule looks for: check that yourself before you start.",
            accepting="nothing has looked for what this rule finds",
            follows_from=(f"the rule {rule.code}",),
        )
        yield replace(
            found,
            confidence=Confidence.UNKNOWN,
            effect=Effect.NONE,
            goal=Goal.NONE,
            is_judged=False,
        )


def _stable(error: Exception) -> str:
    """Return what an error says, the same at every start: a nonce follows from it."""
    return _ADDRESS.sub("0x…", redact(f"{type(error).__name__}: {error}")[:_LONGEST])


def _find_strange(case: Case) -> list[str]:
    """Return the tables that no batch of this query is in."""
    from holdfast.rules.delta_holdings import delta_holdings, lacks_trace_of_query  # noqa: PLC0415 - of Delta alone

    return [
        f"{each.output.display_name}: it holds no batch of this query. Check that the query writes "
        "it"
        for each in delta_holdings(case)
        if lacks_trace_of_query(case, each)
    ]


def _gravest(findings: list[Finding]) -> Finding | None:
    """Return the finding that decides: what is certain before what is likely, loss first."""
    effects = list(_OF_EFFECT)
    deciding = [
        each
        for each in findings
        if each.effect in _OF_EFFECT and each.severity is not Severity.NOTE
    ]
    return min(
        deciding,
        key=lambda each: (each.confidence is Confidence.LIKELY, effects.index(each.effect)),
        default=None,
    )


def _verdict(case: Case, decided_by: Finding | None, *, is_open: bool) -> Verdict:
    if case.checkpoint.is_empty and isinstance(case.next_start, StartsFresh):
        return Verdict.NOTHING
    if decided_by is not None:
        return _OF_EFFECT[decided_by.effect]
    if is_open or isinstance(case.next_start, Unknown) or _is_unseen(case):
        return Verdict.UNKNOWN
    return _predicted(case)


def _tell_behind(source: str) -> str:
    return (
        f"source {source}: its Kafka offsets in the newest entry are behind those in the entry "
        "before it. Unless its topic was created again, records are read again"
    )


def _unverified(case: Case) -> tuple[str, ...]:
    """Return files of which only the form was checked.

    A ledger vouches for those of a stream, a journal for what a repair wrote.
    """
    if case.stream is not None or not case.checkpoint.keeps_checksums:
        return ()
    stores = () if case.overview is None else case.overview.stores
    state = (each for store in stores for each in store.verified.without)
    entries = (each for each in unverified_files(case.checkpoint) if each not in case.repaired)
    return (*entries, *state)


def _has_unnamed_ledgers(case: Case) -> bool:
    """Return whether the record of a guarded stream does not say where all its ledgers are."""
    if case.stream is None or case.newest_planned < 0:
        return False
    return not case.outputs and (case.record is None or not case.record.has_ledgers)


def _is_unseen(case: Case) -> bool:
    """Return whether something that was asked for, or that belongs to it, could not be seen."""
    ledgers = () if case.stream is None else case.stream.sinks
    return (
        case.record_unread is not None
        or any(each.unreadable is not None for each in ledgers)
        or _has_unnamed_ledgers(case)
        or bool(_unverified(case))
        or any(isinstance(each, NotRead) for each in case.outputs)
        or any(map(_is_half_seen, case.sources))
        or (case.event_log is not None and not getattr(case.event_log, "runs", ()))
    )


def _is_half_seen(source: SourceProbe) -> bool:
    """Return whether a source was not asked, or its topics cannot be told from the old ones."""
    found = source.found
    return isinstance(found, NotProbed) or getattr(found, "ids_unread", None) is not None


def _predicted(case: Case) -> Verdict:
    """Return what the prediction says, where no rule has spoken."""
    start = case.next_start
    if isinstance(start, Refuses) or getattr(start, "then", None) is not None:
        return Verdict.FAILS
    is_sink_known = case.stream is not None or case.outputs or case.is_recognised
    return Verdict.REPEATS if isinstance(start, RunsAgain) and not is_sink_known else Verdict.SAFE
