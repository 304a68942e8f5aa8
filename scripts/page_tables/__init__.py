"""Tables of the pages, one file a subject: a function yields the lines of the table that has its name."""
