"""Guarded streams on Spark Connect: client, worker, server and executor killed; clients racing."""

from __future__ import annotations
