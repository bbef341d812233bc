"""Killing a pipeline for real at every point of a micro-batch, and judging what is left."""

from __future__ import annotations
