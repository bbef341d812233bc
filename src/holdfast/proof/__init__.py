"""Judging from the data that nothing is missing and nothing is there twice."""

from __future__ import annotations
