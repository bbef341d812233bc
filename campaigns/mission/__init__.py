"""A bug in the first stage of a pipeline, and how it is repaired: planned, or by hand."""

from __future__ import annotations
