"""Where guarded streams into Delta are killed: lists of points, each in the order of a life."""

from __future__ import annotations

from holdfast.drills.kill import Named, Point, Rename
from lab.faults.s3_proxy import S3Request

ON_DISK: list[Point] = [
    Named("G2"),
    Named("generation-opened"),
    Named("G4"),
    Named("fenced"),  # the fence is in the log, and the row is not
    Named("fenced", nth=2),  # both are
    Named("G5"),
    Rename("before", "offsets/0"),
    Rename("after", "offsets/0"),
    Named("S1"),
    Named("S3"),
    Rename("before", ".json", nth=2),  # of the log: the fence, then the batch
    Rename("after", ".json", nth=2),
    Named("S7"),  # of the replay, which is skipped
    Rename("before", "commits/0"),
    Rename("after", "commits/0"),
    Named("S6", nth=2),
    Rename("before", ".json", nth=1),  # the fence itself
    Rename("after", ".json", nth=1),
    Rename("after", "offsets/3"),
    Named("S6"),
    Named("S7"),
    Rename("after", "commits/4"),
    Named("G6"),
]

LOG = r"/_delta_log/[0-9]+\.json$"
DATA = r"/part-[^/]+\.parquet$"
ON_S3: list[Point] = [
    S3Request("before", LOG),  # the table itself
    S3Request("after", LOG),
    Named("G2"),
    S3Request("before", LOG),  # the fence
    S3Request("after", LOG),
    S3Request("before", LOG, nth=2),  # the row
    S3Request("after", LOG, nth=2),
    Named("G5"),
    S3Request("before", r"/offsets/0$"),
    S3Request("after", r"/offsets/0$"),
    Named("S1"),
    Named("S3"),
    S3Request("before", DATA),
    S3Request("after", DATA),
    S3Request("before", LOG, nth=2),  # the fence, then the batch
    S3Request("after", LOG, nth=2),
    Named("S7"),  # of the replay, which is skipped
    S3Request("before", r"/commits/0$"),
    S3Request("after", r"/commits/0$"),
    Named("S6", nth=2),
    S3Request("before", LOG),
    Named("fenced"),
    S3Request("after", r"/leases/[0-9]+\.json$"),
    S3Request("after", DATA),
    S3Request("before", r"/offsets/3$"),
    S3Request("after", r"/offsets/3$"),
    Named("S6"),
    Named("G3"),
    Named("S7"),
    S3Request("before", r"/commits/4$"),
    S3Request("after", r"/commits/4$"),
    Named("G6"),
]

FAN_OUT: list[Point] = [
    Named("fenced", nth=2),  # one table has its row, and the other not even a fence
    Named("fenced", nth=3),
    Named("G5"),
    Rename("before", ".parquet"),  # the rows are being written down
    Rename("after", ".parquet"),
    Named("journalled"),
    Named("S3"),
    Named("S6"),  # one table has batch 0
    Named("G3"),
    Named("fenced"),
    Named("fenced", nth=2),
    Named("G5"),
    Named("S1"),
    Named("S3", nth=2),  # the first has skipped it
    Named("sink-written"),
    Named("S6"),  # now the other has it too
    Named("S7"),  # both have skipped it
    Rename("before", "commits/0"),
    Named("journalled"),  # batch 1
    Named("sink-written"),  # in one table
    Rename("before", ".json", nth=3),  # two fences, and the other table's batch
    Named("S6"),
    Named("S6", nth=2),  # batch 2, in both
    Named("sink-written", nth=3),  # batch 3, in one
    Named("S2", nth=2),
    Rename("after", "commits/3"),
    Rename("after", "offsets/5"),
    Named("G6"),
]
