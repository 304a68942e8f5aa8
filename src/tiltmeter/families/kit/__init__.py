"""Code that families share: their interface (`protocol.py`), answers, options, narratives and the packing of cards."""
