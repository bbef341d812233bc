"""Where guarded streams are killed: lists of points, each in the order of a life.

In that order most runs recover from the kill before and die in that recovery.
"""

from __future__ import annotations

from holdfast.drills.kill import Named, Point, Rename, Send
from lab.faults.s3_proxy import S3Request

FIRST_START: list[Point] = [
    Named("G1"),
    Named("G2"),
    Named("G3"),
    Named("generation-opened"),  # the generation is there, Spark's metadata is not
    Named("G4"),
    Named("fenced"),  # inside the fence's transaction
    Named("G5"),
    Rename("before", "offsets/0"),  # bare Spark never starts again after this one
    Named("orphan-copied"),
    Rename("after", "offsets/0"),
]
BATCHES: list[Point] = [
    Named("S1"),
    Named("S2"),
    Named("S3"),
    Named("copying"),
    Named("S4"),
    Named("S5"),
    Named("S6"),
    Named("S7"),  # of the replay, which is skipped
    Rename("before", "commits/0"),
    Rename("after", "commits/0"),
    Rename("before", "offsets/1"),
    Rename("after", "offsets/1"),
    Named("S4"),
    Named("S6"),
    Named("S7"),
    Rename("before", "commits/2"),
    Named("S5", nth=2),
    Named("S6", nth=2),
    Rename("after", "commits/5"),
]
RECOVERY: list[Point] = [
    # A batch is in the sink and Spark does not know: every step of the start after that.
    Named("S6"),
    Named("G1"),
    Named("G2"),
    Named("G3"),
    Named("G4"),
    Named("fenced"),
    Named("G5"),
    Named("S1"),
    Named("S7"),
]
LAST: list[Point] = [
    Named("G6"),  # the query runs beside it: nothing after this depends on how far it came
    Named("run-ended"),  # all is written, the lease is still held
    Named("G8"),
]
STATELESS = FIRST_START + BATCHES + RECOVERY + LAST
NAMED: list[Point] = [
    # Where files cannot be watched: a store that only the driver's own client reaches.
    Named("G2"),
    Named("generation-opened"),
    Named("fenced"),
    Named("G5"),
    Named("S1"),
    Named("copying"),
    Named("S6"),
    Named("S7"),  # of the replay, which is skipped
    Named("S6", nth=2),
    Named("G3"),
    Named("S4"),
    Named("S6"),
    Named("G6"),
]


def with_state(store: str) -> list[Point]:
    """Return the points of a query with state, whose store writes files with this ending."""
    return [
        Rename("before", store),  # batch 0, while its rows are on their way to the driver
        Rename("after", store, nth=2),
        Named("S2"),
        Named("S3"),
        Named("copying"),
        Named("S5"),
        Named("S6"),
        # It is in the sink: skipped and drained, which writes the state again.
        Rename("before", store),
        Rename("after", store),
        Named("S7"),
        Rename("before", "commits/0"),
        Rename("after", "commits/0"),
        Rename("before", "offsets/1"),
        Rename("after", "offsets/1"),
        Named("S4"),
        Named("S6", nth=2),
        Named("G3"),
        Named("fenced"),
        Named("G5"),
        Rename("after", store, nth=2),
        Named("S7"),
        Rename("before", "commits/4"),
        Rename("after", "commits/5"),
        Named("S5"),
        Named("G6"),
        Named("run-ended"),
    ]


ON_S3: list[Point] = [
    S3Request("before", r"/leases/000001\.json$"),
    S3Request("after", r"/leases/000001\.json$"),  # an epoch that nobody ever used
    Named("G2"),
    Named("G3"),
    S3Request("before", r"/generations/0001\.json$"),
    S3Request("after", r"/generations/0001\.json$"),  # no metadata yet
    S3Request("after", r"/metadata$"),
    Named("G4"),
    Named("fenced"),
    Named("G5"),
    S3Request("before", r"/offsets/\.0\.[^/]*tmp$"),
    S3Request("before", r"/offsets/0$"),
    Named("orphan-copied"),
    S3Request("after", r"/offsets/0$"),
    Named("S1"),
    Named("copying"),
    Named("S5"),
    Named("S6"),
    Named("S7"),
    S3Request("before", r"/commits/\.0\.[^/]*tmp$"),
    S3Request("before", r"/commits/0$"),
    S3Request("after", r"/commits/1$"),
    S3Request("before", r"/offsets/2$"),
    S3Request("after", r"/offsets/3$"),
    Named("S6"),
    S3Request("before", r"/commits/4$"),
    S3Request("after", r"/commits/5$"),
    Named("G6"),
    Named("run-ended"),
    S3Request("after", r"/leases/[0-9]+\.json$", nth=2),  # renewed or given up, and nobody heard
]
POOLED: list[Point] = [
    Named("fenced"),
    Named("S2"),
    Named("copying"),
    Named("S5"),
    Named("S6"),
    Named("G5"),
    Named("S7"),
    Named("S5", nth=3),
    Rename("before", "commits/4"),
]
BY_A_TASK: list[Point] = [
    Rename("after", "offsets/0"),
    Named("S1"),
    Named("S3"),  # of the driver's own try, which finds the batch too large
    Named("S7"),
    Named("G4"),
    Named("S7"),  # of the replay, which is skipped
    Rename("before", "commits/0"),
    Rename("after", "commits/1"),
    Rename("before", "commits/3"),
    Named("run-ended"),
]
IN_PARALLEL: list[Point] = [
    Named("S2"),  # all tables are committed, and none is attached
    Send("before", "DROP TABLE"),  # the batch is there, and tables of the kill before wait
    Named("S7"),  # of the replay, which is skipped
    Rename("before", "commits/0"),
    Send("after", "DROP TABLE"),
    Named("S3"),
    Named("copying"),  # one of two tables is attached
    Named("copying", nth=2),
    Send("before", "ATTACH PARTITION"),
    Send("after", "ATTACH PARTITION", nth=2),
    Named("S4"),
    Named("S5"),
    Named("S6"),
    Named("fenced"),
    Named("G5"),
    Named("S7"),
    Named("S5", nth=2),
    Rename("after", "commits/5"),
    Named("run-ended"),
]
