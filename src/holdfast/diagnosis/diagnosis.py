"""A diagnosis: the verdict on a restart first, then everything that it follows from.

The verdict is the worst that any finding says of the data. A rule that failed, and a source or a
sink that was asked for and could not be seen, make a verdict that would be *safe* unknown: unknown
is never fine.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique

from holdfast.diagnosis.fact import Fact
from holdfast.diagnosis.facts import find_facts
from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Refuses, RunsAgain, StartsFresh, Unknown
from holdfast.evidence.outputs.output import NotRead
from holdfast.evidence.progress import sources_behind
from holdfast.evidence.read_at_start import unverified_files
from holdfast.evidence.sources.probe import NotProbed, SourceProbe
from holdfast.grades import Confidence, Effect, Severity
from holdfast.redact import redact
from holdfast.rules import Catalogue, Finding, Needs, catalogue_for

_UNNAMED_LEDGERS = "the ledgers: the record does not say where every sink of the last run is"
_NO_CHECKSUM = (
    "Spark reads it, and it has no checksum beside it as other entries have: its form is right, "
    "its values were not checked"
)
_ORDER = (Severity.BLOCKS_RESTART, Severity.DATA_AT_RISK, Severity.RISK, Severity.NOTE)


@unique
class RestartVerdict(StrEnum):
    """What a restart does to the data."""

    LOSES = "loses-data"
    REPEATS = "repeats-data"
    ALTERS = "alters-data"
    FAILS = "will-not-start"
    UNKNOWN = "not-known"
    NOTHING = "no-checkpoint"
    SAFE = "safe"


_OF_EFFECT = {
    Effect.LOSES: RestartVerdict.LOSES,
    Effect.REPEATS: RestartVerdict.REPEATS,
    Effect.ALTERS: RestartVerdict.ALTERS,
    Effect.FAILS: RestartVerdict.FAILS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What is known of one stream or checkpoint before it is restarted."""

    case: Case
    verdict: RestartVerdict
    is_certain: bool
    """Whether the verdict follows from what was read, without an assumption."""
    decided_by: Finding | None
    """The finding that the verdict follows from; None when it follows from none."""
    findings: tuple[Finding, ...]
    """The gravest first."""
    facts: tuple[Fact, ...]
    not_judged: tuple[str, ...]
    """What no rule could say, each with the reason."""

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


def diagnose_case(case: Case, catalogue: Catalogue | None = None) -> Diagnosis:
    """Judge a case by every rule, and decide on the verdict.

    Args:
        case: What is known.
        catalogue: What to judge with; by default every rule, those of other packages too.
    """
    catalogue = catalogue or catalogue_for(case)
    findings: list[Finding] = []
    failed = list(catalogue.not_loaded)
    for rule in catalogue.rules:
        try:
            findings += rule.judge(case)
        except Exception as error:  # noqa: BLE001 - a rule of another package can raise anything
            said = redact(f"{type(error).__name__}: {error}")
            failed.append(f"{rule.code} {rule.name}: the rule itself failed ({said})")
    findings.sort(key=lambda each: (_ORDER.index(each.severity), each.code))
    decided_by = _gravest(findings)
    strange = _find_strange(case) if case.outputs else []
    unnamed = (_UNNAMED_LEDGERS,) if _has_unnamed_ledgers(case) else ()
    behind = tuple(map(_tell_behind, sources_behind(case.checkpoint)))
    unverified = tuple(f"{path}: {_NO_CHECKSUM}" for path in _unverified(case))
    return Diagnosis(
        case=case,
        verdict=_verdict(case, decided_by, is_open=bool(failed or strange or behind)),
        is_certain=decided_by is None or decided_by.confidence is Confidence.CERTAIN,
        decided_by=decided_by,
        findings=tuple(findings),
        facts=find_facts(case),
        not_judged=(*failed, *strange, *unnamed, *behind, *unverified, *case.not_looked_at),
    )


def _find_strange(case: Case) -> list[str]:
    """Return the tables that no batch of this query is in."""
    from holdfast.rules.delta_holdings import delta_holdings, is_strange  # noqa: PLC0415 - of Delta alone

    return [
        f"{each.output.shown}: it holds no batch of this query. Check that the query writes it"
        for each in delta_holdings(case)
        if is_strange(case, each)
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


def _verdict(case: Case, decided_by: Finding | None, *, is_open: bool) -> RestartVerdict:
    if case.checkpoint.is_empty and isinstance(case.next_start, StartsFresh):
        return RestartVerdict.NOTHING
    if decided_by is not None:
        return _OF_EFFECT[decided_by.effect]
    if is_open or isinstance(case.next_start, Unknown) or _is_unseen(case):
        return RestartVerdict.UNKNOWN
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
    )


def _is_half_seen(source: SourceProbe) -> bool:
    """Return whether a source was not asked, or its topics cannot be told from the old ones."""
    found = source.found
    return isinstance(found, NotProbed) or getattr(found, "ids_unread", None) is not None


def _predicted(case: Case) -> RestartVerdict:
    """Return what the prediction says, where no rule has spoken."""
    start = case.next_start
    if isinstance(start, Refuses) or getattr(start, "then", None) is not None:
        return RestartVerdict.FAILS
    is_sink_known = case.stream is not None or case.outputs
    if isinstance(start, RunsAgain) and not is_sink_known:
        return RestartVerdict.REPEATS
    return RestartVerdict.SAFE
