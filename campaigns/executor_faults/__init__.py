"""Tasks that fail, stand still or die with their executor, under every kind of sink."""

from __future__ import annotations
