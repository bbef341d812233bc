"""Every remedy there is, family by family."""

from __future__ import annotations

from campaigns.remedies import bare, changed, guarded, kafka
from campaigns.remedies.remedy import Remedy


def find_remedies() -> tuple[Remedy, ...]:
    """Return every remedy that is carried out."""
    return (*guarded.REMEDIES, *changed.REMEDIES, *bare.REMEDIES, *kafka.REMEDIES)
