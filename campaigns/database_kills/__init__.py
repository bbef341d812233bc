"""Guarded streams into MariaDB and SQLite: killed, paused and replaced; every look counted."""

from __future__ import annotations
