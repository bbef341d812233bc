"""Starting past a refusal: by its code and nonce, once, and what the ledger row then says.

What accepting a finding means is decided by its rule. Here no rule is known by its code.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping

import msgspec

from holdfast import clock
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.errors import ConfigError
from holdfast.events import emit
from holdfast.events.starts import FindingNoted, FindingWarned
from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.grades import Severity
from holdfast.ids import BatchId
from holdfast.ledger.coverage import NOTHING_READ, read_coverage
from holdfast.ledger.row import NO_BATCH, LedgerRow
from holdfast.record.acceptances import (
    Acceptance,
    is_granted,
    newest_acceptance,
    nonce_of,
    read_accept,
    use_up,
)
from holdfast.record.layout import HOME
from holdfast.rules import Finding
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer
from holdfast.streams.refusal import StartRefusedError

VARIABLE = "HOLDFAST_ACCEPT"
Given = Mapping[str, tuple[str, ...]]
"""The nonces that are given, by the code that they accept."""


class Accepted(msgspec.Struct, frozen=True):
    """The findings that the operator has accepted."""

    findings: tuple[Finding, ...] = ()

    def codes(self, sink: str | None = None) -> set[str]:
        """Return the codes accepted, of one sink where it is named."""
        return {each.code for each in self.findings if sink in (None, each.sink)}

    def covers(self, finding: Finding) -> bool:
        """Return whether a finding is one that was accepted: of the same rule, in the same sink."""
        return any((each.code, each.sink) == (finding.code, finding.sink) for each in self.findings)

    def last_batch(self, sink: str) -> int | None:
        """Return the last batch that a sink is taken to hold; None where nothing says so."""
        batches = [each.accepted_batch for each in self.findings if each.sink == sink]
        return max((batch for batch in batches if batch is not None), default=None)


def say_findings(stream: str, findings: tuple[Finding, ...]) -> None:
    """Log the findings that do not refuse a start."""
    for each in findings:
        if not each.refuses_start:
            said = FindingNoted if each.severity is Severity.NOTE else FindingWarned
            emit(said(stream=stream, finding=str(each)))


def accepted_by_operator(accept: str | None) -> Given:
    """Return the nonces given in the code and in the environment, by their codes.

    Raises:
        ConfigError: One is not of the form that a refusal prints.
    """
    given: dict[str, tuple[str, ...]] = {}
    for name, text in (("accept=", accept), (VARIABLE, os.environ.get(VARIABLE))):
        for code, nonce in read_accept(text, name=name).items():
            given[code] = (*given.get(code, ()), nonce)
    return given


def accept_findings(
    record: Writer,
    evidence: StreamEvidence,
    findings: tuple[Finding, ...],
    *,
    given: Given,
    epoch: int,
) -> Accepted:
    """Use up what was accepted; refuse what was not. Only findings that refuse a start count.

    Raises:
        StartRefusedError: Something is not accepted.
    """
    refusing = _refusing(findings)
    if not refusing:
        return Accepted()
    before = newest_acceptance(record)
    told = _told(refusing)
    nonces = _nonces(evidence, told, before)
    codes = {
        code
        for code, nonce in nonces.items()
        if nonce in given.get(code, ()) or is_granted(record, code, nonce)
    }
    is_settled = _is_settled(refusing, codes)
    for code in sorted(codes) if is_settled else ():
        acceptance = Acceptance(
            number=before + 1,
            code=code,
            what=told[code],
            epoch=epoch,
            accepted_at=clock.now().isoformat(timespec="seconds"),
        )
        is_settled = is_settled and use_up(record, acceptance)
    if not is_settled:
        raise _refusal(record, evidence.stream, refusing, nonces=nonces, given=given)
    return Accepted(tuple(each for each in refusing if each.code in codes))


def refuse_findings(
    record: Reader, evidence: StreamEvidence, findings: tuple[Finding, ...]
) -> None:
    """Refuse what is found after the fence: it is too late to accept it.

    Raises:
        StartRefusedError: Something is found that refuses a start.
    """
    refusing = _refusing(findings)
    if refusing:
        nonces = _nonces(evidence, _told(refusing), newest_acceptance(record))
        raise _refusal(record, evidence.stream, refusing, nonces=nonces, given={})


def _refusing(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple(each for each in findings if each.refuses_start)


def _told(findings: tuple[Finding, ...]) -> dict[str, str]:
    """Return what is found, by code."""
    told: dict[str, str] = {}
    for each in findings:
        told[each.code] = f"{told.get(each.code, '')}{each.what}"
    return told


def _nonces(evidence: StreamEvidence, told: dict[str, str], before: int) -> dict[str, str]:
    """Return what accepts each code: for this stream alone, and until its next batch."""
    of = f"{evidence.stream}/{evidence.generation.number}/{evidence.newest_committed}"
    return {code: nonce_of(code, f"{of}/{what}", before=before) for code, what in told.items()}


def _refusal(
    record: Reader,
    stream: str,
    findings: tuple[Finding, ...],
    *,
    nonces: dict[str, str],
    given: Given,
) -> StartRefusedError:
    root = str(record.location).removesuffix(f"/{HOME}/{stream}")
    refusal = StartRefusedError(stream, findings, nonces, root=root)
    for code, nonce in nonces.items():
        if given.get(code) and nonce not in given[code]:
            refusal.stale[code] = given[code][0]
    return refusal


def _is_settled(findings: tuple[Finding, ...], codes: set[str]) -> bool:
    """Return whether each finding is accepted, and each question has exactly one answer."""
    answers = Counter(each.question for each in findings if each.question and each.code in codes)
    return max(answers.values(), default=1) == 1 and all(
        each.code in codes or each.question in answers for each in findings
    )


def row_for(
    evidence: StreamEvidence, sink: SinkEvidence, reader: Reader, *, accepted: Accepted
) -> LedgerRow:
    """Return the row that the checkpoint speaks for: what the sink is taken to hold.

    Raises:
        ConfigError: The checkpoint does not tell; then there is nothing to go on from.
    """
    last = _last_batch(evidence, sink, accepted)
    digest, end_offsets = None, NOTHING_READ
    if last > NO_BATCH:
        covered = read_coverage(reader, BatchId(last))
        if isinstance(covered, Unparsed):
            raise ConfigError(f"{covered.path}: {covered.reason}; no ledger row follows from it.")
        digest, end_offsets = covered.digest, covered.end_offsets
    return LedgerRow(
        stream=evidence.stream,
        sink=sink.sink,
        generation=evidence.generation.number,
        epoch=0,
        nonce="",
        binding=evidence.binding,
        last_batch=BatchId(last),
        digest=digest,
        end_offsets=end_offsets,
    )


def _last_batch(evidence: StreamEvidence, sink: SinkEvidence, accepted: Accepted) -> int:
    """Return the last batch that the sink is taken to hold: as accepted, or as it says itself."""
    last = accepted.last_batch(sink.sink)
    if last is None and sink.row is None:
        last = sink.native_batch
    return evidence.newest_committed if last is None else last
