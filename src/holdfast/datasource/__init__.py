"""`df.writeStream.format("holdfast")`: a Python data source that writes a guarded stream."""
