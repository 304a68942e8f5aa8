"""Reports: what a person reads. So far the tables and sentences of the terminal."""
