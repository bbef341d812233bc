"""The guarded streams that several campaigns run, with the rows that must come of them."""

from __future__ import annotations
