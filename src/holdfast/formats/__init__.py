"""Logs that other software writes, read as files and without Spark."""
