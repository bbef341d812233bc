# A constant that another file uses.

APP_ID = "orders-ingest"
