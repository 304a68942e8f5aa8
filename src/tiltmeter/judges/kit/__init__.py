"""Parts that judges share: the type `Judge`, names on the command line, training, and measured errors."""
