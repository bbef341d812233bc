"""Guarded streams into Kafka: killed, paused and replaced; every `read_committed` look counted."""

from __future__ import annotations
