"""Tables with planted faults, of every type that a sink takes: a proof must find each of them."""

from __future__ import annotations
