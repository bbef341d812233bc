#!/bin/sh
# Runs the sensors pipeline on YARN, in cluster mode:
#
#   examples/sensors/submit.sh SETTINGS [more options of spark-submit …]
#
# SETTINGS is a file like sensors.toml. A DSN that it names by file:PATH must be there on every node.
#
#   PACKED=packed.tar.gz  a packed Python environment that has Holdfast: see
#                         docs/guides/installing-on-a-cluster.md. Without it the nodes' Python is
#                         used, which must have Holdfast.
#   PACKAGES=…            the jars of Delta and Kafka as Maven coordinates; empty if the cluster or
#                         --jars has them. Those below are for Spark 4.2.
#   ONCE=1                process what is there now, and end.
set -eu

PACKAGES=${PACKAGES-io.delta:delta-spark_4.2_2.13:4.4.0,org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.1}
settings=$(realpath "$1")
shift
repository=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The package `examples` in one file, which Spark puts on the path of the driver.
(cd "$repository" && python3 -m zipfile -c "$work/examples.zip" examples)

# `--files` puts the settings into the directory in which the driver runs. A driver that dies is
# started again, three times within an hour: Holdfast continues where it was.
"${SPARK_HOME:+$SPARK_HOME/bin/}spark-submit" \
    --master yarn --deploy-mode cluster --name sensors \
    --conf spark.yarn.maxAppAttempts=3 \
    --conf spark.yarn.am.attemptFailuresValidityInterval=1h \
    --conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension \
    --conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog \
    ${PACKAGES:+--packages "$PACKAGES"} \
    ${PACKED:+--archives "$PACKED#packed"} \
    ${PACKED:+--conf spark.yarn.appMasterEnv.PYSPARK_PYTHON=./packed/bin/python} \
    ${PACKED:+--conf spark.executorEnv.PYSPARK_PYTHON=./packed/bin/python} \
    --py-files "$work/examples.zip" --files "$settings" \
    "$@" \
    "$repository/examples/sensors/job.py" "$(basename "$settings")" ${ONCE:+--once}
