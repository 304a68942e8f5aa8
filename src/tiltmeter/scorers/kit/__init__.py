"""What scorers read: the tokens of many sentences at once."""
