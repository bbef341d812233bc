"""Bytes at a location: on disk, in a bucket, in memory. Knows nothing of Spark."""

from __future__ import annotations

from holdfast.storage.location import Location, parse_location
from holdfast.storage.open import open_reader
from holdfast.storage.read import FileInfo, Listing, Reader, read_chunks

__all__ = [
    "FileInfo",
    "Listing",
    "Location",
    "Reader",
    "open_reader",
    "parse_location",
    "read_chunks",
]
