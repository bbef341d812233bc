# Databricks notebook source
# MAGIC %md
# MAGIC # Can a guarded stream run on this compute?
# MAGIC
# MAGIC Nothing of yours is written. Run it on the compute that the stream will use: serverless,
# MAGIC standard and dedicated access mode differ. Read what it prints before you rely on Holdfast
# MAGIC here: it was not run on Databricks.

# COMMAND ----------

# MAGIC %pip install --quiet 'holdfast-spark[postgres]'

# COMMAND ----------

SECRETS = ["env:READINGS_DSN"]  # names, never values: the secrets that your sinks will use
ROOT = "/Volumes/main/default/streams"  # where checkpoints and records will be

# COMMAND ----------

import holdfast as hf

spark = globals()["spark"]  # the notebook's own
print(f"Spark {spark.version}: {hf.doctor(spark, secrets=SECRETS, root=ROOT)}")

# COMMAND ----------

# MAGIC %md
# MAGIC Which triggers does this compute take? A query that writes nowhere is started and stopped.

# COMMAND ----------

TRIGGERS = (
    {"availableNow": True},
    {"processingTime": "10 seconds"},
)

for trigger in TRIGGERS:
    rows = spark.readStream.format("rate").load()
    try:
        query = rows.writeStream.format("noop").trigger(**trigger).start()
        query.stop()
        said = "taken"
    except Exception as error:  # noqa: BLE001 - each platform refuses with errors of its own
        said = f"refused: {str(error).strip().splitlines()[0][:200]}"
    print(f"  trigger={trigger}: {said}")

# COMMAND ----------

print(
    """not run by this notebook:
  whether the worker reaches your database: the first hf.start looks, and else is refused
  how long a query lives without its notebook, and what ends it
  a kill in the middle of a batch: stop the compute while a test stream runs into a test table,
  start the stream again, and run holdfast prove"""
)
