"""Spark's event log: what every application tells of its streaming queries, read without Spark."""
