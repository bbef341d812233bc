"""A fleet scan as a Spark job: a Python data source on Spark 4, `mapInArrow` on 3.5.

The driver finds directories, tasks read the checkpoints below them through Holdfast's own storage
layer, and rows come back as Arrow. Neither Spark's file readers nor Hadoop's file systems take
part: a missing file is what a scan looks for, and to them it is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError
from holdfast.fleet.request import DEPTH, FleetRequest, FleetWalk
from holdfast.fleet.rows import FleetRow, parse_row
from holdfast.fleet.shallow import MOST_REQUESTS
from holdfast.fleet.slices import FleetSlices, scan_places, slice_search
from holdfast.storage.location import Location, parse_location

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SLICES = 32
_SOURCE = "holdfast_fleet"
_SINCE = 4
"""The major version of Spark that has Python data sources."""


def scan_fleet(  # noqa: PLR0913 - one argument per option of the command
    spark: SparkSession,
    locations: Sequence[str],
    *,
    paths: Iterable[str] = (),
    storage_options: Mapping[str, str] | None = None,
    depth: int = DEPTH,
    exclude: Sequence[str] = (),
    owner: str | None = None,
    requests: int = MOST_REQUESTS,
    slices: int = SLICES,
) -> DataFrame:
    """Scan a fleet with Spark, as `holdfast fleet scan` does without it.

    The DataFrame has one row per checkpoint and can be filtered, joined and written like any other.
    It is computed when it is used, and again each time it is used: write or cache it.

    Args:
        spark: The session whose executors read. Holdfast and pyarrow must be installed there.
        locations: Where to search: directories on a shared disk or in buckets.
        paths: Checkpoints that need not be found, each by its location; not searched below.
        storage_options: Of the buckets; they win over the environment of the executors.
        depth: How many directories, one inside the other, are searched.
        exclude: Glob patterns of names or paths that are not searched.
        owner: A regular expression whose first group finds the owner in a path.
        requests: The most that one checkpoint may cost.
        slices: How many tasks there are.

    Raises:
        ConfigError: No location was given.
        LocationError: A location is not one that Holdfast can read.
    """
    named = _parse_paths(locations, paths)
    options, left_out = dict(storage_options or {}), tuple(exclude)
    request = FleetRequest(locations=tuple(locations), options=options, depth=depth, owner=owner)
    request = replace(request, exclude=left_out, requests=requests)
    return scan_by_spark(spark, request, slices=slices, named=named)


def _parse_paths(locations: Sequence[str], paths: Iterable[str]) -> tuple[Location, ...]:
    is_list = not isinstance(locations, str) and not isinstance(paths, str)
    named = tuple(map(parse_location, dict.fromkeys(paths))) if is_list else ()
    if not (is_list and (locations or named)):
        raise ConfigError(
            "scan_fleet needs a list of locations, such as ['s3://lake/checkpoints']."
        )
    return named


def scan_by_spark(
    spark: SparkSession,
    request: FleetRequest,
    *,
    slices: int = SLICES,
    named: Iterable[Location] = (),
) -> DataFrame:
    """Return the rows of a request as a DataFrame.

    Args:
        spark: The session whose executors read.
        request: What to search, and how.
        slices: How many tasks there are.
        named: Checkpoints that need not be found.

    Raises:
        LocationError: A location is not one that Holdfast can read.
    """
    found = slice_search(request, slices=slices, named=named)
    if int(spark.version.partition(".")[0]) >= _SINCE:
        return _by_data_source(spark, found, slices)
    return _by_map(spark, found, slices)


class SparkScanner:
    """Scans as `FleetScanner` does, with the session of this process or a new one."""

    def __init__(self, request: FleetRequest, *, named: Iterable[Location] = ()) -> None:
        """Prepare; no session is started yet."""
        self._request = request
        self._named = named
        self.walk = FleetWalk()

    def run(self) -> Iterator[FleetRow]:
        """Yield a row for every checkpoint; the driver holds all of them.

        Raises:
            LocationError: A location is not one that Holdfast can read.
        """
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.appName("holdfast fleet scan").getOrCreate()
        yield from rows_of(scan_by_spark(spark, self._request, named=self._named))


def rows_of(df: DataFrame) -> Iterator[FleetRow]:
    """Yield the rows of a DataFrame that `scan_fleet` returned.

    Raises:
        ConfigError: It has other rows.
    """
    for each in df.collect():
        row = parse_row(each.asDict())
        if row is None:
            raise ConfigError("The DataFrame has a row that is not one of a fleet scan.")
        yield row


def _by_data_source(spark: SparkSession, found: FleetSlices, slices: int) -> DataFrame:
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

    from holdfast.fleet.arrow import DDL  # noqa: PLC0415 - an extra

    request, cut = found.request, found.cut(slices)

    class FleetReader(DataSourceReader):
        """Reads one slice per partition."""

        def partitions(self) -> Sequence[InputPartition]:
            return [InputPartition(each) for each in cut] or [InputPartition(())]

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            yield from _scan_slice(request, partition.value)

    class FleetSource(DataSource):
        """One scan; its request is inside, so that no option of a store shows in a plan."""

        @classmethod
        def name(cls) -> str:
            return _SOURCE

        def schema(self) -> str:
            return DDL

        def reader(self, schema: object) -> DataSourceReader:
            del schema
            return FleetReader()

    spark.dataSource.register(FleetSource)
    return spark.read.format(_SOURCE).load()


def _by_map(spark: SparkSession, found: FleetSlices, slices: int) -> DataFrame:
    from holdfast.fleet.arrow import DDL  # noqa: PLC0415 - an extra

    request = found.request

    def scan(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from _scan_slice(request, batch.column(0).to_pylist())

    rows = [(each,) for each in found.places]
    places = spark.createDataFrame(rows, "place string").repartition(slices)
    return places.mapInArrow(scan, DDL)


def _scan_slice(request: FleetRequest, places: Iterable[str]) -> Iterator[pa.RecordBatch]:
    from holdfast.fleet.arrow import to_batches  # noqa: PLC0415 - an extra

    yield from to_batches(scan_places(request, places))
