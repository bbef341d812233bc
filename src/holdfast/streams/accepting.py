"""Going on past a refusal: by its code and nonce, once, and what the ledger then says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast import clock
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.errors import ConfigError
from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.ids import BatchId
from holdfast.ledger.coverage import NOTHING_READ, Coverage, read_coverage
from holdfast.ledger.row import NO_BATCH, LedgerRow
from holdfast.record.acceptances import Acceptance, newest_acceptance, nonce_of, use_up
from holdfast.rules import Finding
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer
from holdfast.streams.refusal import StartRefusedError

_ONE = re.compile(r"(HF[0-9]{3}):([0-9a-f]{4})")
_OTHER_ANSWER = {"HF611": "HF612", "HF612": "HF611"}
_PENDING_IS_HELD, _CONTENT_IS_RIGHT = "HF612", "HF605"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The findings that somebody has accepted."""

    findings: tuple[Finding, ...] = ()

    def codes(self, sink: str | None = None) -> set[str]:
        """Return the codes accepted, of one sink where it is named."""
        return {each.code for each in self.findings if sink in (None, each.sink)}


def read_accept(accept: str | None) -> dict[str, str]:
    """Return the nonces that are given, by code: `HF610:7c1f HF611:02ab`.

    Raises:
        ConfigError: It is not of that form.
    """
    parts = (accept or "").replace(",", " ").split()
    matched = [_ONE.fullmatch(part) for part in parts]
    if not all(matched):
        raise ConfigError(f"accept={accept!r} is not CODE:NONCE, as a refusal prints it.")
    return {each[1]: each[2] for each in matched if each}


def accept_findings(
    record: Writer,
    evidence: StreamEvidence,
    findings: tuple[Finding, ...],
    *,
    given: dict[str, str],
    epoch: int,
) -> Accepted:
    """Use up what was accepted; refuse what was not.

    Raises:
        StartRefusedError: Something is not accepted.
    """
    before = newest_acceptance(record)
    told: dict[str, str] = {}
    for each in findings:
        told[each.code] = f"{told.get(each.code, '')}{each.what}"
    nonces = {code: nonce_of(code, what, before=before) for code, what in told.items()}
    codes = {code for code, nonce in nonces.items() if given.get(code) == nonce}
    settled = codes | {_OTHER_ANSWER[code] for code in codes if code in _OTHER_ANSWER}
    is_settled = set(nonces) <= settled and not codes >= set(_OTHER_ANSWER)
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
        raise StartRefusedError(evidence.stream, findings, nonces)
    return Accepted(tuple(each for each in findings if each.code in codes))


def row_for(
    evidence: StreamEvidence, sink: SinkEvidence, reader: Reader, *, accepted: Accepted
) -> LedgerRow:
    """Return the row that the checkpoint speaks for: what the sink is taken to hold.

    Raises:
        ConfigError: The checkpoint does not tell; then there is nothing to go on from.
    """
    last = _last_batch(evidence, sink, accepted=accepted.codes(sink.sink))
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


def _last_batch(evidence: StreamEvidence, sink: SinkEvidence, *, accepted: set[str]) -> int:
    """Return the last batch that the sink is taken to hold: committed ones, or a pending one."""
    if _PENDING_IS_HELD in accepted:
        return evidence.newest_planned
    if sink.row is None and sink.native_batch is not None and not accepted:
        return sink.native_batch
    row, held = sink.row, sink.held
    if row is not None and isinstance(held, Coverage):
        is_its = held.digest == row.digest or _CONTENT_IS_RIGHT in accepted
        if is_its and row.last_batch > evidence.newest_committed:
            return row.last_batch
    return evidence.newest_committed
