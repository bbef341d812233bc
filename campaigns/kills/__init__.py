"""Guarded streams killed between every two steps, where the built-in drills do not go."""

from __future__ import annotations
