"""Changing buckets, by conditional put where it matters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError

from holdfast.errors import WriteError
from holdfast.storage.location import Location
from holdfast.storage.object_clients import (
    Store,
    has_same_settings,
    open_store,
    store_options,
    whole_bucket,
)
from holdfast.storage.objects import ObjectReader, reason, remedy
from holdfast.storage.read import CHUNK_BYTES, Reader, read_chunks

SURELY_COPIED_BYTES = 1 << 30
"""Larger objects are read and written if the store does not copy them with one request: S3 does not
above 5 GiB, and the answer can take longer than a client waits."""


class ObjectWriter(ObjectReader):
    """Reads and changes below a prefix of a bucket."""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file; return False, and change nothing, when one is there."""
        with self._writing(path):
            try:
                obstore.put(self.store, path, data, mode="create")
            except AlreadyExistsError:
                return False
        return True

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file."""
        with self._writing(path):
            obstore.put(self.store, path, data)

    def delete(self, path: str) -> None:
        """Delete a file; one that is not there is no error."""
        with self._writing(path):
            try:
                obstore.delete(self.store, path)
            except FileNotFoundError:
                return

    def remove_empty_directories(self) -> None:
        """Remove nothing: a bucket has no directories."""

    def copy(self, source: str, target: str) -> None:
        """Copy a file to another path below the same location, replacing what is there."""
        with self._writing(target):
            obstore.copy(self.store, source, target)

    def copy_from(self, source: Reader, path: str, *, to: str) -> None:
        """Copy a file of another reader to a path here, replacing what is there."""
        if not isinstance(source, ObjectReader) or not has_same_settings(self.store, source.store):
            self._stream(source, path, to=to)
            return
        with self._writing(to):
            try:
                obstore.copy(
                    self._bucket, source.location.join(path).path, self.location.join(to).path
                )
            except BaseError:
                found = source.stat(path)
                if found is None or found.size_bytes <= SURELY_COPIED_BYTES:
                    raise
                self._stream(source, path, to=to)

    @cached_property
    def _bucket(self) -> Store:
        return whole_bucket(self.store)

    def _stream(self, source: Reader, path: str, *, to: str) -> None:
        found = source.stat(path)
        with self._writing(to):
            if found is None:
                raise FileNotFoundError(f"there is no {path} to copy")
            if found.size_bytes <= CHUNK_BYTES:
                obstore.put(self.store, to, source.read(path) or b"")
                return
            # Not `put` with an iterator: it would read from within obstore's own event loop. Not
            # a `with` either: it would complete half an object after an error.
            upload = obstore.open_writer(self.store, to, buffer_size=2 * CHUNK_BYTES)
            for chunk in read_chunks(source, path):
                upload.write(chunk)
            upload.close()

    @contextmanager
    def _writing(self, path: str) -> Iterator[None]:
        try:
            yield
        except (BaseError, FileNotFoundError, ValueError) as error:
            location = str(self.location.join(path))
            # Not as a cause: obstore quotes the request and the answer, with what is secret.
            raise WriteError(location, why=reason(error), how=remedy(error)) from None


def open_object_writer(place: Location, options: Mapping[str, str] | None) -> ObjectWriter:
    """Return a writer of a bucket."""
    return ObjectWriter(place, open_store(place, store_options(place, options)))
