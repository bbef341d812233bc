"""The rules of lint, one module each."""

from __future__ import annotations
