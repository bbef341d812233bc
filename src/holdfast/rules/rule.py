"""What a rule is: evidence in, findings out, and everything that is decided about them.

A rule is a function with a decorator, in a module of its subject. The folder of the module says
what the rule needs beside the checkpoint: `rules/source/…` is judged where a source was asked. Its
page is `rules/pages/<code>.md`, and its cases are one file. Rules and findings are values: they can
be pickled, and judging neither reads nor writes anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import wraps
from importlib import import_module

import msgspec

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.grades import Confidence, Effect, Goal, Severity, page_in, read_page
from holdfast.ledger.coverage import Coverage
from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.sources.kind import Amount

_PACKAGE = "holdfast.rules"
_OUR_CODE = re.compile(r"HF[0-9]{3}")


class Needs(StrEnum):
    """What a rule looks at beside the checkpoint; without that it is not judged.

    The rules that need it are in the folder of this name.
    """

    CHECKPOINT = "checkpoint"
    """The checkpoint alone."""
    STATE = "state"
    """What is in the state files: `--deep`."""
    STREAM = "stream"
    """The record of a guarded stream, and the ledgers in its sinks."""
    SOURCE = "source"
    """What the source can still give: `--probe`."""
    OUTPUT = "output"
    """What a sink without a ledger holds: `--sink`."""
    NEIGHBOURS = "neighbours"
    """Other checkpoints: `--among`."""
    QUERY = "query"
    """The query that is to be started: a guarded start, or `holdfast check`."""
    ERROR = "error"
    """The log or the stack trace of the last run: `--error`."""
    HISTORY = "history"
    """The history of the query in Spark's event log: `--event-log`."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule found."""

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    effect: Effect
    goal: Goal
    what: str
    """What was found, with the figures and the files."""
    how: str
    """What to do, as a command where there is one."""
    accepting: str
    """What starting anyway does to the data."""
    follows_from: tuple[str, ...]
    """The files and rows it was read from."""
    amount: Amount | None = None
    """How much is lost, repeated or altered; None when that is not known."""
    sink: str | None = None
    """The sink it is about; None when it is about the query."""
    accepted_batch: int | None = None
    """The last batch in the sink's ledger row once this is accepted; None leaves the row alone."""
    question: str | None = None
    """What it answers, where findings are alternatives: exactly one of them must be accepted."""
    is_predicted: bool = False
    """Whether it says what the prediction of the next start says."""
    is_judged: bool = True
    """False where the rule itself failed: what it looks for is not known."""

    def __post_init__(self) -> None:
        """Refuse a finding that names nothing it follows from."""
        if not self.follows_from:
            raise ValueError(f"{self.code} names nothing that it follows from")

    @property
    def refuses_start(self) -> bool:
        """Whether a guarded start is refused until the finding is repaired or accepted."""
        is_grave = self.severity in (Severity.BLOCKS_RESTART, Severity.DATA_AT_RISK)
        return is_grave and self.confidence is not Confidence.LIKELY

    def __str__(self) -> str:
        return f"{self.code} {self.name}: {self.what} {self.how}"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of the catalogue."""

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    effect: Effect
    goal: Goal
    needs: Needs = Needs.STREAM
    judge: Callable[[Case], Iterator[Finding]]
    causes: tuple[Cause, ...] = ()
    """The causes of an error that it speaks for."""

    @property
    def page(self) -> str:
        """What explains it, in Markdown, without its title.

        That of a rule in another package is the text of its module.
        """
        if _OUR_CODE.fullmatch(self.code) is None:
            return page_in(self.judge.__module__)
        return read_page(_PACKAGE, self.code)

    def __reduce__(self) -> tuple[Callable[[str], Rule], tuple[str]]:
        """Pickle the code: the process that reads it has the same rules."""
        return (_with_code, (self.code,))

    def find(  # noqa: PLR0913 - what a finding says, each by name
        self,
        *,
        what: str,
        how: str,
        follows_from: tuple[str, ...],
        accepting: str = "",
        amount: Amount | None = None,
        sink: str | None = None,
        accepted_batch: int | None = None,
        question: str | None = None,
        goal: Goal | None = None,
        is_predicted: bool = False,
    ) -> Finding:
        """Return a finding of this rule; names and paths in its texts may come from anybody.

        Its goal is the rule's, unless what is known of the stream makes another one right.
        """
        return Finding(
            code=self.code,
            name=self.name,
            severity=self.severity,
            confidence=self.confidence,
            effect=self.effect,
            goal=goal or self.goal,
            what=_shown(_as_sentence(what)),
            how=_shown(how),
            accepting=_shown(accepting),
            follows_from=tuple(map(_shown, follows_from)),
            amount=amount,
            sink=sink,
            accepted_batch=accepted_batch,
            question=question,
            is_predicted=is_predicted,
        )


Judge = Callable[[Case], Iterator[Finding]]
StreamJudge = Callable[[Case, StreamEvidence], Iterator[Finding]]


def rule(  # noqa: PLR0913, PLR0917 - the grades of a rule; each has a type of its own
    code: str,
    severity: Severity,
    confidence: Confidence,
    effect: Effect,
    goal: Goal,
    *,
    needs: Needs | None = None,
    causes: tuple[Cause, ...] = (),
) -> Callable[[Judge], Rule]:
    """Make a rule of a function: its name is the rule's, and its folder says what it needs.

    Args:
        code: The number that people look up.
        severity: What a finding means for a restart.
        confidence: How sure it is.
        effect: What a restart then does to the data.
        goal: What repairs it.
        needs: Only for a rule of another package: what it looks at beside the checkpoint.
        causes: The causes of an error that it speaks for.
    """

    def make(judge: Judge) -> Rule:
        return Rule(
            code=code,
            name=judge.__name__.replace("_", "-"),
            severity=severity,
            confidence=confidence,
            effect=effect,
            goal=goal,
            needs=needs or needs_of(judge.__module__),
            judge=judge,
            causes=causes,
        )

    return make


def stream_rule(  # noqa: PLR0917 - the grades of a rule; each has a type of its own
    code: str, severity: Severity, confidence: Confidence, effect: Effect, goal: Goal
) -> Callable[[StreamJudge], Rule]:
    """Make a rule of a function that is asked only where there is a guarded stream."""

    def make(judge: StreamJudge) -> Rule:
        @wraps(judge)
        def judge_stream(case: Case) -> Iterator[Finding]:
            return iter(()) if case.stream is None else judge(case, case.stream)

        return rule(code, severity, confidence, effect, goal)(judge_stream)

    return make


def needs_of(module: str) -> Needs:
    """Return what the rules of a module need: the name of its folder."""
    folder = module.removeprefix(f"{_PACKAGE}.").partition(".")[0]
    return Needs(folder) if folder in set(Needs) else Needs.STREAM


def _with_code(code: str) -> Rule:
    """Return the rule with a code, in a process that has not looked at the rules so far."""
    rules: tuple[Rule, ...] = import_module(f"{_PACKAGE}.catalogue").load_catalogue().rules
    return next(each for each in rules if each.code == code)


def _as_sentence(text: str) -> str:
    """Begin with a capital where the name of a place comes first; file names stay as they are."""
    return f"The {text[4:]}" if text.startswith("the ") else text


def _shown(text: str) -> str:
    return printable(redact(text))


def proven_batch(evidence: StreamEvidence, sink: SinkEvidence) -> int:
    """Return the last batch that checkpoint and ledger agree on.

    That is the newest committed batch, or the pending one where the sink's row shows that exactly
    this batch has arrived. Most rules put it into the ledger row when they are accepted.
    """
    row, held = sink.row, sink.held
    if row is not None and isinstance(held, Coverage) and held.digest == row.digest:
        return max(row.last_batch, evidence.newest_committed)
    return evidence.newest_committed
