"""Applies plans: the only changer of checkpoints. Lease, preconditions, steps, journal, undo."""

from __future__ import annotations
