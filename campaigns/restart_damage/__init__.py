"""What a restart does to a pipeline that is written the way the web advises."""

from __future__ import annotations
