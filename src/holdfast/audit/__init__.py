"""Audit: every streaming query of a repository, and what a restart after a kill does to each."""

from __future__ import annotations
