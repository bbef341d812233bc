"""Fleet: one row per checkpoint for thousands of them, and what only all of them together show."""

from __future__ import annotations
