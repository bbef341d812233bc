"""Backfill: a bounded job over a range of a stream's sources, into the stream's own sinks."""

from __future__ import annotations
