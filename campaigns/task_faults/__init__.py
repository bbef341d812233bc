"""Faults of the one task that writes a large batch."""

from __future__ import annotations
