"""States that a crash can leave of a stream's files and table, each started from."""

from __future__ import annotations
