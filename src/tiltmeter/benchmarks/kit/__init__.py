"""What benchmarks share: items, tables and word lists as files have them, and where a dataset lies."""
