"""Campaigns: a matrix of situations, each one played on real servers and judged row by row."""

from __future__ import annotations
