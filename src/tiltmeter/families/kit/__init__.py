"""What families share: their interface (`seam.py`), answers, options, stories and the packing of cards."""
