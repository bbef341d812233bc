"""A source that Holdfast does not know: its offsets are shown and compared, never interpreted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from holdfast.sources.kind import Offset, SourceKind

_SHOWN_TEXT = 60


class Unknown(SourceKind):
    """What no other kind takes."""

    name = "unknown"
    label = "unknown source"
    is_known = False

    def parse(self, text: str) -> OpaqueOffset:
        """Keep the text."""
        return OpaqueOffset(text=text)


UNKNOWN = Unknown()
KINDS = (UNKNOWN,)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueOffset(Offset):
    """An offset of a source Holdfast does not know: shown, compared, never interpreted."""

    kind: ClassVar[SourceKind] = UNKNOWN
    text: str

    def describe(self, source: str) -> str:
        """Show the beginning of the text."""
        more = "…" if len(self.text) > _SHOWN_TEXT else ""
        return f"at {self.text[:_SHOWN_TEXT]}{more}"
