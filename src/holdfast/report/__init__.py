"""Values drawn for people: pages that need nothing but a browser."""

from __future__ import annotations
