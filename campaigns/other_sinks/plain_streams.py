"""The sinks that Spark brings and that the web advises, as streams for `holdfast drill run`.

    holdfast drill run campaigns.other_sinks.plain_streams:jdbc_append --source-sample DIR …

Each writes as it is usually shown, in four tasks, of which the last has the last rows of its batch.
Servers are named by the environment: `PLAIN_DSN`, `PLAIN_JDBC` (a URL), `PLAIN_KAFKA` and
`PLAIN_MARIADB` (a port).
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import psycopg
import pymysql
from psycopg import sql
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from holdfast.drills.scratch import Scratch
from holdfast.points import reached
from lab.kafka import Broker
from lab.mariadb import PASSWORD

DSN, JDBC, KAFKA, MARIADB = "PLAIN_DSN", "PLAIN_JDBC", "PLAIN_KAFKA", "PLAIN_MARIADB"
TASKS = 4
KEYS = 20
_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def name_in(home: Path) -> str:
    """Return what the table or the topic of a scratch place is called."""
    return f"plain_{hashlib.sha256(str(home).encode()).hexdigest()[:12]}"


def jdbc_append(spark: SparkSession, scratch: Scratch) -> StreamingQuery:
    """Append every batch with Spark's JDBC writer."""
    table = _make_table(scratch, "id text")

    def write(batch: DataFrame, _: int) -> None:
        batch.write.jdbc(os.environ[JDBC], table, mode="append")

    return _start(_rows(spark, scratch).writeStream.foreachBatch(write), scratch)


def jdbc_delete_insert(spark: SparkSession, scratch: Scratch) -> StreamingQuery:
    """Delete what the table holds of this batch id, then append the batch."""
    table = _make_table(scratch, "id text, batch_id bigint")
    delete = sql.SQL("DELETE FROM {} WHERE batch_id = %s").format(sql.Identifier(table))

    def write(batch: DataFrame, number: int) -> None:
        with psycopg.connect(os.environ[DSN], autocommit=True) as connection:
            connection.execute(delete, [number])
        reached("deleted")
        numbered = batch.withColumn("batch_id", F.lit(number).cast("long"))
        numbered.write.jdbc(os.environ[JDBC], table, mode="append")

    return _start(_rows(spark, scratch).writeStream.foreachBatch(write), scratch)


def read_jdbc(spark: SparkSession, scratch: Scratch) -> DataFrame:
    """Return what is in the table of a scratch place."""
    return spark.read.jdbc(os.environ[JDBC], name_in(scratch.home)).drop("batch_id")


def mariadb_append(spark: SparkSession, scratch: Scratch) -> StreamingQuery:
    """Append every batch to a table of MariaDB with Spark's JDBC writer, many rows at once."""
    table = name_in(scratch.home)
    ask_mariadb(f"CREATE TABLE IF NOT EXISTS {table} (id varchar(20))")
    options = _of_mariadb()

    def write(batch: DataFrame, _: int) -> None:
        batch.write.format("jdbc").options(**options, dbtable=table).mode("append").save()

    return _start(_rows(spark, scratch).writeStream.foreachBatch(write), scratch)


def ask_mariadb(statement: str) -> list[tuple[object, ...]]:
    """Run one statement by a connection of its own, and return what it gives."""
    opened = pymysql.connect(
        host="127.0.0.1",
        port=int(os.environ[MARIADB]),
        database="lab",
        user="lab",
        password=PASSWORD,
        autocommit=True,
    )
    with opened as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def read_mariadb(spark: SparkSession, scratch: Scratch) -> DataFrame:
    """Return what is in the table of a scratch place."""
    reader = spark.read.format("jdbc").options(**_of_mariadb(), dbtable=name_in(scratch.home))
    return reader.load()


def _of_mariadb() -> dict[str, str]:
    given = "useSSL=false&allowPublicKeyRetrieval=true&rewriteBatchedStatements=true"
    return {
        "url": f"jdbc:mysql://127.0.0.1:{os.environ[MARIADB]}/lab?{given}",
        "driver": "com.mysql.cj.jdbc.Driver",
        "user": "lab",
        "password": PASSWORD,
    }


def counts_upsert(spark: SparkSession, scratch: Scratch) -> StreamingQuery:
    """Count with state in RocksDB, and upsert every count, in one transaction of the driver."""
    spark.conf.set(_STORE, _ROCKSDB)
    table = _make_table(scratch, "key text PRIMARY KEY, count bigint")
    upsert = sql.SQL(
        "INSERT INTO {} VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET count = EXCLUDED.count"
    ).format(sql.Identifier(table))

    def write(batch: DataFrame, _: int) -> None:
        rows: list[Row] = batch.collect()
        with psycopg.connect(os.environ[DSN]) as connection, connection.cursor() as cursor:
            cursor.executemany(upsert, rows)

    key = (F.substring("id", 5, 6).cast("int") % KEYS).cast("string").alias("key")
    counted = _rows(spark, scratch).groupBy(key).count()
    return _start(counted.writeStream.outputMode("update").foreachBatch(write), scratch)


def files(spark: SparkSession, scratch: Scratch) -> StreamingQuery:
    """Write Parquet with Spark's file sink."""
    writer = _rows(spark, scratch).writeStream.format("parquet").option("path", scratch.sink)
    return _start(writer, scratch)


def read_files(spark: SparkSession, scratch: Scratch) -> dict[str, DataFrame]:
    """Return what Spark reads, by `_spark_metadata`, and what is there for everybody else."""
    parts = map(str, Path(scratch.sink).glob("*.parquet"))
    return {"spark": spark.read.parquet(scratch.sink), "others": spark.read.parquet(*parts)}


def kafka(spark: SparkSession, scratch: Scratch) -> StreamingQuery:
    """Send every row with Spark's Kafka sink."""
    topic, server = name_in(scratch.home), os.environ[KAFKA]
    if not Path(scratch.checkpoint).exists():
        Broker(server).create_topic(topic, partitions=2)
    values = _rows(spark, scratch).select(F.col("id").alias("value"))
    writer = values.writeStream.format("kafka").option("kafka.bootstrap.servers", server)
    return _start(writer.option("topic", topic), scratch)


def read_kafka(spark: SparkSession, scratch: Scratch) -> DataFrame:
    """Return what a consumer gets that waits for transactions."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", os.environ[KAFKA])
    topic = reader.option("subscribe", name_in(scratch.home))
    return (
        topic.option("kafka.isolation.level", "read_committed")
        .load()
        .selectExpr("CAST(value AS STRING) AS id")
    )


def delta_native(spark: SparkSession, scratch: Scratch) -> StreamingQuery:
    """Write with Delta's own streaming sink."""
    writer = _rows(spark, scratch).writeStream.format("delta").option("path", scratch.sink)
    return _start(writer, scratch)


def delta_append(spark: SparkSession, scratch: Scratch) -> StreamingQuery:
    """Append every batch to a Delta table."""
    table = scratch.sink

    def write(batch: DataFrame, _: int) -> None:
        batch.write.format("delta").mode("append").save(table)

    return _start(_rows(spark, scratch).writeStream.foreachBatch(write), scratch)


def delta_merge(spark: SparkSession, scratch: Scratch) -> StreamingQuery:
    """Merge every batch into a Delta table by its key."""
    table = f"delta.`{scratch.sink}`"
    spark.sql(f"CREATE TABLE IF NOT EXISTS {table} (id STRING) USING delta")
    merge = (
        f"MERGE INTO {table} t USING batch s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )

    def write(batch: DataFrame, _: int) -> None:
        batch.createOrReplaceTempView("batch")
        batch.sparkSession.sql(merge)

    return _start(_rows(spark, scratch).writeStream.foreachBatch(write), scratch)


def _rows(spark: SparkSession, scratch: Scratch) -> DataFrame:
    lines: DataFrame = scratch.source(spark)
    return lines.select(F.col("value").alias("id")).repartitionByRange(TASKS, "id")


def _make_table(scratch: Scratch, columns: str) -> str:
    table = name_in(scratch.home)
    with psycopg.connect(os.environ[DSN], autocommit=True) as connection:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})".encode())
    return table


def _start(writer: DataStreamWriter, scratch: Scratch) -> StreamingQuery:
    return writer.option("checkpointLocation", scratch.checkpoint).start()
