"""The kind of source: Kafka."""
