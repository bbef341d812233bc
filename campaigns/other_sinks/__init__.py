"""Other ways to write a stream, killed in the same phases: what is lost and duplicated."""

from __future__ import annotations
