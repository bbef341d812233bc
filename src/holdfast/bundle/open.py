"""Opens a checkpoint, where it is or in a bundle. What reads bundles is imported for one only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from holdfast.bundle.opened import Opened
from holdfast.confinement import permits, refuse_outside
from holdfast.storage.open import open_reader

_SUFFIX = ".zip"


def open_checkpoint(location: str, options: Mapping[str, str] | None = None) -> Opened:
    """Open a checkpoint, or a bundle if the location is a local file whose name ends in `.zip`.

    Raises:
        BundleError: The file is no bundle, or does not fit its seal.
        LocationError: The location is not one Holdfast can read.
        ConfigError: The options are not accepted.
    """
    reader = open_reader(location, options)
    place = reader.location
    if place.is_local and place.path.endswith(_SUFFIX) and Path(place.path).is_file():
        from holdfast.bundle.reader import open_bundle  # noqa: PLC0415 - most are no bundle

        return open_bundle(Path(place.path))
    above = place.parent
    root = None if above is None or not permits(above) else open_reader(above, options)
    return Opened(checkpoint=reader, root=root)


def refuse_unseen_record(opened: Opened) -> None:
    """Refuse a checkpoint if the record that may be beside it must not be read.

    Without its record, a checkpoint that a reset has replaced would look like any other.

    Raises:
        OutsideRootsError: It must not.
    """
    above = opened.checkpoint.location.parent
    if opened.bundle is None and above is not None:
        refuse_outside(above)
