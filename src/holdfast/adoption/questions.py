"""What only the first start of an adoption asks, by the rules that ask it."""

from __future__ import annotations

from holdfast.rules.stream.adoption import (
    adopted_batch_held,
    adopted_batch_not_held,
    adopted_writer_not_fenced,
)

OLD_WRITER = adopted_writer_not_fenced.code
"""Is the old query stopped?"""
NOT_THERE = adopted_batch_not_held.code
"""The answer that the sink holds nothing of the pending batch."""
ALL_THERE = adopted_batch_held.code
"""The answer that the sink holds all of it."""
QUESTIONS = frozenset({OLD_WRITER, NOT_THERE, ALL_THERE})
