"""The five steps of a reset as documents write them, measured cell by cell."""

from __future__ import annotations
