"""Shared parts of studies: evidence, findings, options, and helpers of single studies."""
