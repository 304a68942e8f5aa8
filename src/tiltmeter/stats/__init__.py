"""Statistics: resampling, tests, and one number with its interval. Independent of families and of particular measures."""
