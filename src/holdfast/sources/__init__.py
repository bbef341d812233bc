"""Kinds of sources: what each writes into a checkpoint, can still give, and how it is read again.

One package per kind. What a kind is, is said there and nowhere else; `registry` finds the kind.
"""

from __future__ import annotations

from holdfast.sources.kind import Offset, SourceKind
from holdfast.sources.registry import parse_offset

__all__ = ["Offset", "SourceKind", "parse_offset"]
