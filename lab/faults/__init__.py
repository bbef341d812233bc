"""Faults from outside a driver: proxies that cut and lose, a clock that is moved, a trace."""

from __future__ import annotations
