"""Programs that the lab itself runs as drivers: plain PySpark, each started by its namesake."""
