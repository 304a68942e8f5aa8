"""Input of scorers: the tokens of many sentences at once."""
