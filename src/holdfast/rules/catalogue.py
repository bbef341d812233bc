"""Every rule there is, by its number."""

from __future__ import annotations

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules import (
    adopted_batch_pending,
    adopted_writer_not_fenced,
    batch_content_changed,
    checkpoint_gone,
    ledger_of_another_checkpoint,
    ledger_row_missing,
    other_generation,
    query_changed,
    sink_ahead_of_checkpoint,
    sink_behind_checkpoint,
    sink_changed_alone,
)
from holdfast.rules.rule import Finding, Rule

RULES: tuple[Rule, ...] = (
    query_changed.RULE,
    ledger_row_missing.RULE,
    ledger_of_another_checkpoint.RULE,
    sink_behind_checkpoint.RULE,
    sink_ahead_of_checkpoint.RULE,
    batch_content_changed.RULE,
    checkpoint_gone.RULE,
    other_generation.RULE,
    sink_changed_alone.RULE,
    adopted_writer_not_fenced.RULE,
    adopted_batch_pending.NOT_HELD,
    adopted_batch_pending.HELD,
)


def judge(evidence: StreamEvidence) -> tuple[Finding, ...]:
    """Return what every rule finds, by the rules' numbers."""
    return tuple(finding for rule in RULES for finding in rule.judge(evidence))
