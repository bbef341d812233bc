"""Tables of streams with state, or joined with a table: a proof must find every planted fault."""

from __future__ import annotations
