"""The kinds of steps: do, look, undo and words of each stand together."""

from __future__ import annotations
