"""Streams whose right answer is known after every batch: with them the sinks are drilled."""

from __future__ import annotations
