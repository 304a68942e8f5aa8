"""Arithmetic that several measures share."""
