"""The port to Spark for a session of Spark Connect: no JVM is here, and functions run elsewhere."""

from __future__ import annotations
