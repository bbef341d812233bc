"""Examples of hypothesis have no deadline. The environments of other Sparks are without it."""

from __future__ import annotations

from hypothesis import settings

# How long one example takes says how busy the machine is.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
