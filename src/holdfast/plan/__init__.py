"""Plans: what a repair would change, as a value. Nothing here changes anything."""

from __future__ import annotations
