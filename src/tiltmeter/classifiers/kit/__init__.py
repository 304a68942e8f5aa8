"""What classifiers share: what a judge is, how one is named on the command line, and how a transformer is asked."""
