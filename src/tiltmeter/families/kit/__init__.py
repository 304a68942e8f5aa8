"""What families share: the seam, the answers, options, stories and the packing of cards."""
