"""Two drivers of one stream whose clocks differ, and an owner that is suspended."""

from __future__ import annotations
