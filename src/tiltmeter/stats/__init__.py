"""Statistics: resampling, tests, and one number with its interval. Knows no family, and no measure by name."""
