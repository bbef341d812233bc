"""What a start and a batch cost when many commits lie behind them, for each sink."""

from __future__ import annotations
