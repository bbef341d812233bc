"""Words of the errors with which each version of Spark fails."""

from __future__ import annotations

from tests.spark.spark_version import NotThere, of_version

NO_DELTA = of_version(
    {
        (3, 5): "Error reading delta file",
        (4, 0): "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
    }
)
NO_ROCKSDB_FILE = of_version(
    {
        (3, 5): "Error reading streaming state file",
        (4, 0): "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE",
    }
)
UNREADABLE = of_version({(3, 5): "STREAM_FAILED", (4, 0): "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"})
"""Of a state file; 3.5 passes on what the codec, the zip or RocksDB says."""
NEWER_LOG = of_version(
    {(3, 5): "UnsupportedLogVersion", (4, 0): "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION"}
)
OTHER_LOG = "INVALID_LOG_VERSION.EXACT_MATCH_VERSION"
"""What 4.0 and 4.1 say of every commit entry that is not of their session's state format."""
NO_FORMAT_2 = NotThere("there is no state format 2 before Spark 4.0")
NO_OPERATOR_METADATA = NotThere("Spark 3.5 writes no metadata of operators")
