"""The goals: functions from what is known of streams to a plan, or to why there is none."""

from __future__ import annotations
