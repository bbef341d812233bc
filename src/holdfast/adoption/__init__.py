"""Adoption: what the first guarded start of a plain stream finds, and the change to its program."""

from __future__ import annotations
