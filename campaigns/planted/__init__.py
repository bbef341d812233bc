"""Bugs that are planted into a copy of the code, to see that something finds them."""

from __future__ import annotations
