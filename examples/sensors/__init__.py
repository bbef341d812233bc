"""The reference pipeline: Kafka to raw, typed and gold tables, and PostgreSQL for serving."""
