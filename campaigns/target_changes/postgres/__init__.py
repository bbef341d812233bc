"""Changes to a table of PostgreSQL."""

from __future__ import annotations
