"""The adapter to a classic session: everything that goes through py4j and the JVM."""

from __future__ import annotations
