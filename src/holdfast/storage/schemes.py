"""The schemes of storage, one row each: everything that the scheme of a location decides. No I/O.

A new scheme is its module, with what opens it, and one row here. Everything else asks the row.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from holdfast.storage.azure import azure_bucket, azure_url

_HADOOP = "hdfs dfs -"


class Scheme(msgspec.Struct, frozen=True, kw_only=True):
    """One scheme of storage."""

    name: str
    reader: str
    """`module:function`, called with a location and options; imported when it is used."""
    writer: str
    """The same, of what can create a file only if none is there."""
    moving: str = ""
    """The same, of what renames a directory in one step; empty where nothing does."""
    spellings: tuple[str, ...] = ()
    """What else people write: `s3a` for `s3`."""
    is_local: bool = False
    """A disk of this machine: it has links and pipes, and a request costs no time."""
    needs_session: bool = False
    """Only Hadoop's own client speaks it, with tickets and addresses of the cluster."""
    has_checksum_files: bool = False
    """Hadoop writes a `.crc` file beside each file."""
    lists_in_order: bool = False
    """A walk gives the paths in the order of their characters."""
    spark_puts_if_absent: bool = True
    """Whether Spark's file system creates a file only if none is there, as Delta's log needs."""
    store: str = ""
    """Schemes with the same word can lead to the same files: HDFS, and its address over HTTP."""
    is_other_host: bool = False
    """Its host is not the store's own: only paths can be compared."""
    host: str = "bucket"
    """What people call what stands between // and the next /."""
    needs_host: bool = True
    """False: the settings of a session can give it, as in `hdfs:///streams`."""
    keeps_spelling: bool = False
    """Spark's settings can be for the scheme as it was written: `wasbs`."""
    normal_host: Callable[[str, str], str] = lambda _, host: host
    """Gets the whole text and the host; returns the host in one form for all spellings."""
    url: Callable[[str], str] | None = None
    """Gets the host; returns what stands before the path. None: name://host."""
    spark_url: Callable[[str, str], str] | None = None
    """Gets host and spelling; returns the same as Spark's file systems know it. None: as `url`."""
    with_account: str = ""
    """The form that Spark needs, where a host without an account is not enough for it."""
    shell: str = ""
    """What stands before the name of a shell command."""
    mover: str = ""
    """The command that moves a file, where the store has no directories."""
    directory_mover: str = ""
    directory_remover: str = ""
    """The command that removes a directory with the objects by which Spark's client marks it: their
    names end in a slash, and no client of ours can name them."""


def _without_default_port(_: str, host: str) -> str:
    # Upper case stays: the name of a nameservice is a name in the cluster's settings.
    return host.removesuffix(":8020")


_OBJECTS = "holdfast.storage.objects:open_object_reader"
_OBJECTS_WRITTEN = "holdfast.storage.write_objects:open_object_writer"
_HDFS = "holdfast.storage.hdfs:refuse_reading"
_HDFS_WRITTEN = "holdfast.storage.hdfs:refuse_writing"
_WEB = "holdfast.storage.webhdfs:open_web_reader"
_WEB_WRITTEN = "holdfast.storage.webhdfs:refuse_writing"
SCHEMES: dict[str, Scheme] = {
    "file": Scheme(
        name="file",
        reader="holdfast.storage.local:open_local_reader",
        writer="holdfast.storage.write_local:open_local_writer",
        moving="holdfast.storage.move_local:open_local_mover",
        is_local=True,
        has_checksum_files=True,
        keeps_spelling=True,
    ),
    "s3": Scheme(
        name="s3",
        reader=_OBJECTS,
        writer=_OBJECTS_WRITTEN,
        spellings=("s3a", "s3n"),
        lists_in_order=True,
        spark_puts_if_absent=False,
        spark_url=lambda host, _: f"s3a://{host}",
        mover="aws s3 mv",
        directory_mover="aws s3 mv --recursive",
        directory_remover="aws s3 rm --recursive",
    ),
    "gs": Scheme(
        name="gs",
        reader=_OBJECTS,
        writer=_OBJECTS_WRITTEN,
        spellings=("gcs",),
        lists_in_order=True,
        mover="gcloud storage mv",
        directory_mover="gcloud storage mv",
        directory_remover="gcloud storage rm --recursive",
    ),
    "az": Scheme(
        name="az",
        reader=_OBJECTS,
        writer=_OBJECTS_WRITTEN,
        spellings=("azure", "abfs", "abfss", "wasb", "wasbs"),
        lists_in_order=True,
        keeps_spelling=True,
        normal_host=azure_bucket,
        url=azure_url,
        spark_url=azure_url,
        with_account="abfss://container@account.…",
        shell=_HADOOP,
    ),
    "hdfs": Scheme(
        name="hdfs",
        reader=_HDFS,
        writer=_HDFS_WRITTEN,
        moving=_HDFS,
        needs_session=True,
        store="hdfs",
        host="host",
        needs_host=False,
        normal_host=_without_default_port,
        shell=_HADOOP,
    ),
    "viewfs": Scheme(
        name="viewfs",
        reader=_HDFS,
        writer=_HDFS_WRITTEN,
        needs_session=True,
        store="hdfs",
        host="host",
        needs_host=False,
        shell=_HADOOP,
    ),
    "webhdfs": Scheme(
        name="webhdfs",
        reader=_WEB,
        writer=_WEB_WRITTEN,
        store="hdfs",
        host="host",
        is_other_host=True,
    ),
    "swebhdfs": Scheme(
        name="swebhdfs",
        reader=_WEB,
        writer=_WEB_WRITTEN,
        store="hdfs",
        host="host",
        is_other_host=True,
    ),
    "memory": Scheme(
        name="memory",
        reader="holdfast.storage.memory:refuse_opening",
        writer="holdfast.storage.memory:refuse_opening",
        has_checksum_files=True,
    ),
}
"""By the name that a location has, whatever its spelling."""


def find_scheme(spelt: str) -> Scheme | None:
    """Return the scheme that is written so, in lower case; None if there is none."""
    known = SCHEMES.get(spelt)
    return known or next((row for row in SCHEMES.values() if spelt in row.spellings), None)
