"""Lint: from a user's source files to what a restart of their streams would lose or duplicate."""

from __future__ import annotations
