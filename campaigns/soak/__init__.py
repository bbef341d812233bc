"""An hour of random kills under the sensors pipeline."""

from __future__ import annotations
