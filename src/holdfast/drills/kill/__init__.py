"""Killing drivers: exactly where the drill says, and cheaply."""

from __future__ import annotations

from holdfast.drills.kill.driver import Driver, Ended
from holdfast.drills.kill.points import Delete, Named, Point, Rename, Send

__all__ = [
    "Delete",
    "Driver",
    "Ended",
    "Named",
    "Point",
    "Rename",
    "Send",
]
