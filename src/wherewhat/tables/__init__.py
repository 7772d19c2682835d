"""Tables on disk: schemas, Parquet, the typed manifest, and atomic writing."""
