"""What can happen to the table of a stream, and what the stream does about it."""

from __future__ import annotations
