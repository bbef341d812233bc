"""Every remedy there is, family by family."""

from __future__ import annotations

from campaigns.remedies import (
    bare,
    changed,
    changed_code,
    guarded,
    kafka,
    nearest,
    refusals,
    several,
    with_state,
)
from campaigns.remedies.remedy import Remedy


def find_remedies() -> tuple[Remedy, ...]:
    """Return every remedy that is carried out."""
    return (
        *guarded.REMEDIES,
        *with_state.REMEDIES,
        *several.REMEDIES,
        *changed.REMEDIES,
        *changed_code.REMEDIES,
        *bare.REMEDIES,
        *kafka.REMEDIES,
        *nearest.REMEDIES,
        *refusals.REMEDIES,
    )
