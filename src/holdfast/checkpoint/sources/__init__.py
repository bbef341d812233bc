"""What sources write: offsets in their own dialects, and logs of their own under `sources/<i>`."""

from __future__ import annotations

from holdfast.checkpoint.sources.dialects import Offset, OpaqueOffset, parse_offset

__all__ = ["Offset", "OpaqueOffset", "parse_offset"]
