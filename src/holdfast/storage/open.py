"""From what people write to a reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from holdfast.confinement import refuse_outside
from holdfast.storage.location import Location, parse_location
from holdfast.storage.read import Reader


def open_reader(location: str | Location, options: Mapping[str, str] | None = None) -> Reader:
    """Return a reader of a directory on disk or in a bucket; nothing is read yet.

    Args:
        location: A path or URL, Hadoop's spellings too.
        options: obstore's options for a bucket; they win over the environment and AWS profiles.

    Raises:
        LocationError: The location is not one Holdfast can read, or may read here.
        ConfigError: The options, or the AWS profile, are not accepted.
        MissingExtraError: The AWS profile needs boto3, which is not installed.
    """
    place = parse_location(location) if isinstance(location, str) else location
    refuse_outside(place)
    opened: Reader = load(place.kind.reader)(place, options)
    return opened


def load(function: str) -> Callable[..., Any]:
    """Return what a row of the schemes names; its module is imported when it is used."""
    module, _, name = function.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found
