"""Storage: atomic files, packed files, the content-addressed caches and cells, and where a number came from."""
