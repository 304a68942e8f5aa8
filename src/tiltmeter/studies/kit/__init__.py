"""What studies share: evidence, findings, options, and helpers of single studies."""
