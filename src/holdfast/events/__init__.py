"""What a start, a batch and a repair have just done, as typed values that anyone can listen to."""

from __future__ import annotations

from holdfast.events.event import Event, emit, listen

__all__ = ["Event", "emit", "listen"]
