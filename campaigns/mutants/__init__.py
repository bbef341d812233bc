"""Mutants of the ledger and of the sinks' protocol, tried by the tests."""

from __future__ import annotations
