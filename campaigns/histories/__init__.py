"""Random histories of runs, kills and repairs, each judged by an oracle that knows every row."""

from __future__ import annotations
