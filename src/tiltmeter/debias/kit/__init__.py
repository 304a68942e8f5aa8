"""Parts that the methods share."""
