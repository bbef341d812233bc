"""Changing buckets, by conditional put where it matters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError

from holdfast.errors import WriteError
from holdfast.storage.objects import ObjectReader, reason, remedy


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

    def copy(self, source: str, target: str) -> None:
        """Copy a file to another path below the same location, replacing what is there."""
        with self._writing(target):
            obstore.copy(self.store, source, target)

    @contextmanager
    def _writing(self, path: str) -> Iterator[None]:
        try:
            yield
        except (BaseError, FileNotFoundError, ValueError) as error:
            location = str(self.location.join(path))
            # Not as a cause: obstore quotes the request and the answer, with what is secret.
            raise WriteError(location, why=reason(error), how=remedy(error)) from None
