"""How the embedded models were made, for anyone with one GPU and a text file. See README.md beside this."""
