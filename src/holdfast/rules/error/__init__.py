"""Rules about the last error of Spark."""
