"""What runs in the driver of a drill."""

from __future__ import annotations
