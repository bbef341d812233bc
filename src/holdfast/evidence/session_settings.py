"""Settings of a session that change what a query computes, and that Spark does not pin.

Spark keeps some settings in the checkpoint (`OffsetSeqMetadata.relevantSQLConfs`). These are not
among them: a restart takes them from the new session, without a word.
"""

from __future__ import annotations

UNPINNED = {
    "spark.sql.ansi.enabled": "casts and arithmetic that gave NULL can now fail, or the reverse",
    "spark.sql.avro.datetimeRebaseModeInRead": "old dates and times are read with other values",
    "spark.sql.caseSensitive": "names that differ only in case mean other columns",
    "spark.sql.legacy.timeParserPolicy": "texts are parsed into other dates and times, or fail",
    "spark.sql.mapKeyDedupPolicy": "maps with duplicate keys fail, or keep the last value",
    "spark.sql.parquet.datetimeRebaseModeInRead": "old dates and times are read with other values",
    "spark.sql.session.timeZone": "dates, days and texts of timestamps are computed in another "
    "time zone",
    "spark.sql.storeAssignmentPolicy": "values that do not fit a column are cast, or fail",
    "spark.sql.timestampType": "TIMESTAMP means another type",
}
"""Each with what a change does."""
