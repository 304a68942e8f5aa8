"""Text that a user gives, as an index from words to the sentences they stand in. Built once, in blocks, on disk."""

from __future__ import annotations

from tiltmeter.corpora.contexts import Contexts, find_contexts, spellings
from tiltmeter.corpora.index import MOST_CONTEXTS, CorpusIndex, build_index

__all__ = ["MOST_CONTEXTS", "Contexts", "CorpusIndex", "build_index", "find_contexts", "spellings"]
