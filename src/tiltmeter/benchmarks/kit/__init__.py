"""Shared parts of benchmarks: items, tables and word lists as files have them, and where a dataset lies."""
