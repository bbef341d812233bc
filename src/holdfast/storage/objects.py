"""Reading buckets through obstore: S3 and what speaks its protocol, Google Cloud Storage, Azure."""

from __future__ import annotations

import builtins
import re
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

from holdfast.errors import ReadError
from holdfast.redact import redact
from holdfast.storage.location import Location
from holdfast.storage.object_clients import Store, open_store, store_options
from holdfast.storage.read import PAGE_ENTRIES, FileInfo, Listing, Page, WalkPage

if TYPE_CHECKING:
    from obstore import ObjectMeta

LIST_CHUNK = 10_000
_OF_THE_MACHINE = "169.254.169.254"
"""The address that clouds give their machines to ask for an identity."""
_CREDENTIALS = (
    "Give this store's own in the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
    "AZURE_STORAGE_ACCOUNT_KEY, or a key file in GOOGLE_SERVICE_ACCOUNT), or by --storage-option."
)
_IS_FOLDER = "hdi_isfolder"
"""Metadata of a blob."""
_REFUSED = "status code: 403"
_BODY = re.compile(r":? *<.*")
"""Of an answer; it can hold the access key and the signature."""
_CODE = re.compile(r"<Code>(\w+)</Code>")
_PROVIDER = re.compile(r"External AWS credential provider: (\w+)")
"""The kind of boto3's error; what follows it can be what a user's program printed."""


class ObjectReader:
    """Reads below a prefix of a bucket."""

    def __init__(self, location: Location, store: Store) -> None:
        self.location = location
        self.store = store

    def list(self, directory: str = "") -> Listing:
        """Return what is directly in a directory; an empty listing when it is not there."""
        with self._reading(directory):
            found = obstore.list_with_delimiter(self.store, directory or None)
        prefixes = sorted(found["common_prefixes"])
        objects = (_info(each) for each in found["objects"])
        # The directory's own marker (a key that ends in /) is listed in it, under its name.
        marked = {prefix.rstrip("/") for prefix in prefixes}
        found_files = [
            each
            for each in objects
            if each.path != directory and (each.size_bytes or each.path not in marked)
        ]
        empty = {each.path for each in found_files if self._is_directory(each)}
        return Listing(
            files=tuple(sorted((e for e in found_files if e.path not in empty), key=_path)),
            directories=tuple(sorted(path.rpartition("/")[2] for path in marked | empty)),
        )

    def list_after(self, directory: str, after: str) -> Page:
        """Return one page of what is directly in a directory, from a name on and without it.

        The store lists every key below the directory: one that is deeper down stands for its
        directory. Stores list in the order of keys; S3 Express One Zone, which does not, also has
        no way to begin after a key.
        """
        prefix = f"{directory}/" if directory else ""
        found = self._first(directory, prefix + after if after else "")
        names = [each.path.removeprefix(prefix) for each in found if each.path != directory]
        directories = {name.split("/")[0] for name in names if "/" in name}
        here = [
            each
            for each in _without_markers(iter(found), directory)
            if "/" not in each.path.removeprefix(prefix)
        ]
        empty = {each.path for each in here if self._is_directory(each)}
        return Page(
            files=tuple(each for each in here if each.path not in empty),
            directories=tuple(sorted(directories | {path.removeprefix(prefix) for path in empty})),
            next_after=names[-1] if len(found) == PAGE_ENTRIES else None,
        )

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        """Yield every file below a directory, a page of the listing at a time."""
        with self._reading(directory):
            pages = obstore.list(self.store, directory or None, chunk_size=LIST_CHUNK)
            objects = (_info(each) for page in pages for each in page)
            files = _without_markers(objects, directory)
            yield from (each for each in files if not self._is_directory(each))

    def walk_page(self, directory: str, *, after: str = "") -> WalkPage:
        """Return the first files below a directory, after a path, with one request."""
        found = self._first(directory, after)
        files = (e for e in _without_markers(iter(found), directory) if not self._is_directory(e))
        return WalkPage(files=tuple(files), is_last=len(found) < PAGE_ENTRIES)

    def _first(self, directory: str, after: str) -> builtins.list[FileInfo]:
        """Return the first objects below a directory, after a path: one request."""
        with self._reading(directory):
            pages = obstore.list(
                self.store, directory or None, offset=after or None, chunk_size=PAGE_ENTRIES
            )
            objects = (_info(each) for page in pages for each in page)
            # Not every store leaves out what comes before.
            return builtins.list(
                islice((each for each in objects if each.path > after), PAGE_ENTRIES)
            )

    def stat(self, path: str) -> FileInfo | None:
        """Return what a listing shows of a file, or None when it is not there."""
        with self._reading(path):
            try:
                found = _info(obstore.head(self.store, path))
            except FileNotFoundError:
                return None
            return None if self._is_folder(found) else found

    def _is_directory(self, found: FileInfo) -> bool:
        """Return whether a listed object only marks a directory, which has nothing else in it.

        s3a makes the object `offsets/`, which is listed as `offsets`; there is no object of that
        name. Asked only of objects that hold nothing and have nothing below them.
        """
        if found.size_bytes:
            return False
        if self.location.scheme == "az":
            return self._is_folder(found)
        with self._reading(found.path):
            try:
                obstore.head(self.store, found.path)
            except FileNotFoundError:
                return True
        return False

    def _is_folder(self, found: FileInfo) -> bool:
        """Return whether an object is how Azure's ABFS marks a directory: by an empty blob.

        It does so in accounts without a hierarchy.
        """
        if self.location.scheme != "az" or found.size_bytes:
            return False
        with self._reading(found.path):
            try:
                return _IS_FOLDER in obstore.get(self.store, found.path).attributes
            except FileNotFoundError:
                return False

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the bytes of a file, or of a part of it; None when it is not there."""
        with self._reading(path):
            try:
                if start == 0 and length is None:
                    return obstore.get(self.store, path).bytes().to_bytes()
                return self._read_part(path, start, length)
            except FileNotFoundError:
                return None

    def _read_part(self, path: str, start: int, length: int | None) -> bytes:
        """Return a part, cut off at the end: stores answer a start beyond it with an error."""
        if start == 0 and length is not None:
            found = obstore.get(self.store, path)  # one request, unless the object is larger
            if found.meta["size"] <= length:
                return found.bytes().to_bytes()
            size = found.meta["size"]
        else:
            size = obstore.head(self.store, path)["size"]
        end = size if length is None else min(size, start + length)
        if start >= end:
            return b""
        return obstore.get_range(self.store, path, start=start, end=end).to_bytes()

    @contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        try:
            yield
        except (BaseError, ValueError) as error:
            location = str(self.location.join(path) if path else self.location)
            # Not as a cause: obstore quotes the request and the answer, with what is secret.
            raise ReadError(location, why=reason(error), how=remedy(error)) from None


def reason(error: Exception) -> str:
    """Return the first line of what the store said, without credentials and without the body."""
    first = str(error).strip().splitlines()[0]
    if _OF_THE_MACHINE in first:
        return "No credentials were found, and this machine has no identity that the store knows."
    if refused := _PROVIDER.search(first):
        return f"boto3 returned no credentials for the AWS profile: {refused[1]}."
    code = _CODE.search(first)
    said = redact(_BODY.sub(f" ({code[1]})" if code else "", first))
    return f"The store answered: {said}"


def remedy(error: Exception) -> str:
    """Return what a person can do about a store's error."""
    if _OF_THE_MACHINE in str(error):
        return _CREDENTIALS
    # A refused listing comes as a general error with the answer in its text.
    if isinstance(error, PermissionDeniedError | UnauthenticatedError) or _REFUSED in str(error):
        return "Check the credentials and their rights to list and read there."
    return "Check the location, the endpoint and the network."


def _without_markers(objects: Iterator[FileInfo], directory: str) -> Iterator[FileInfo]:
    """Leave out the markers of directories that hold something.

    s3a makes an empty object `offsets/` for a directory, and obstore shows it as `offsets`. Stores
    list in the order of keys. What is in a directory comes after its marker, and after `offsets.1`.
    """
    waiting: deque[FileInfo] = deque()  # in order; the first is an empty object
    for each in objects:
        if each.size_bytes or each.path != directory:
            waiting.append(each)
        while waiting:
            first = waiting[0]
            below = f"{first.path}/"
            following = (other.path for other in islice(waiting, 1, None) if other.path >= below)
            decided = below if first.size_bytes else next(following, None)
            if decided is None:
                break
            waiting.popleft()
            if first.size_bytes or not decided.startswith(below):
                yield first
    yield from waiting


def _path(info: FileInfo) -> str:
    return info.path


def _info(found: ObjectMeta) -> FileInfo:
    return FileInfo(
        path=found["path"],
        size_bytes=found["size"],
        modified=found["last_modified"],
        etag=(found["e_tag"] or "").strip('"') or None,  # Azure quotes it in a HEAD only
    )


def open_object_reader(place: Location, options: Mapping[str, str] | None) -> ObjectReader:
    """Return a reader of a bucket."""
    return ObjectReader(place, open_store(place, store_options(place, options)))
