"""Names for numbers and strings that must not be mixed up."""

from __future__ import annotations

from typing import NewType

BatchId = NewType("BatchId", int)
"""Spark's number of a micro-batch, from 0."""

QueryId = NewType("QueryId", str)
"""Spark's id of a query, kept in `metadata` for the life of a checkpoint."""
