"""Code that studies of pairs share."""
