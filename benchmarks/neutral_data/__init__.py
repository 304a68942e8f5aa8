"""Simulated answers of models of known truth, one module for each family."""
