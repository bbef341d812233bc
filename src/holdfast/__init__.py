"""Holdfast makes restarting a Spark Structured Streaming pipeline safe and boring."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0.dev0"
