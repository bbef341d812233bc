"""Streams into Iceberg: killed, paused and replaced; every look of a reader counted."""

from __future__ import annotations
