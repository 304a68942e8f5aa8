"""What studies of pairs share."""
