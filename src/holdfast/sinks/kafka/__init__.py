"""A topic of Kafka: records and the ledger in one transaction of one producer."""
