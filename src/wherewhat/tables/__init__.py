"""Tables as they lie on disk: schemas, Parquet, the manifest, and writing whole or not at all."""
