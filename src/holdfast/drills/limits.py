"""How long a drill waits."""

from __future__ import annotations

SECONDS = 600.0
"""The time limit of one driver of a user's drill, unless another is given."""
