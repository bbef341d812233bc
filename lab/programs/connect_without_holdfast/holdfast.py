"""In the way of Holdfast: the Python of a server that does not have it."""

from __future__ import annotations

raise ModuleNotFoundError("No module named 'holdfast'", name="holdfast")
