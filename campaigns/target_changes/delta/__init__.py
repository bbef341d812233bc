"""Changes to a Delta table."""

from __future__ import annotations
