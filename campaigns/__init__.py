"""Fault campaigns: what is killed, broken and changed under a stream, and what comes of it."""

from __future__ import annotations
