"""Commits that landed and whose answer was lost: each must be recognised."""

from __future__ import annotations
