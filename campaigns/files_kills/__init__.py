"""Guarded streams into files: killed, paused and replaced; every look of plain readers counted."""

from __future__ import annotations
