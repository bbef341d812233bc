"""The kind of source: files that Databricks Auto Loader finds."""
