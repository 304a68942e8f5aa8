"""Memory that is free goes back to the system: allocators keep it, and what was asked in many sizes piles up."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache

KERNEL_CACHES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
"""oneDNN keeps what it made for the last 1,024 shapes of a product. Batches have ever new shapes, so hardly any of it is
used again (benchmarks/README.md)."""


def bound_kernel_caches() -> None:
    """Before torch is imported: less is kept, unless the user has set it."""
    for name, value in KERNEL_CACHES.items():
        os.environ.setdefault(name, value)


def give_back() -> None:
    """Returns free memory to the system, where the C library and Arrow can. It takes some milliseconds."""
    if arrow := sys.modules.get("pyarrow"):
        arrow.default_memory_pool().release_unused()
    _trim()(0)


@cache
def _trim() -> Callable[[int], object]:
    try:
        trim: Callable[[int], object] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # not glibc
        return lambda _: None
    return trim
