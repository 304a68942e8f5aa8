"""Memory that is free goes back to the system: allocators keep it, and what was asked in many sizes piles up."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

KERNEL_CACHES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
"""oneDNN keeps what it made for the last 1,024 shapes of a product. Batches have ever new shapes, so hardly any of it is
used again (benchmarks/README.md)."""

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
TUNABLES = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=8388608:glibc.malloc.trim_threshold=33554432"
}


def bound_kernel_caches() -> None:
    """Before torch is imported: less is kept, unless the user has set it."""
    for name, value in KERNEL_CACHES.items():
        os.environ.setdefault(name, value)


def of_new_processes() -> dict[str, str]:
    """Variables for a process that is started to ask a model: large pieces of memory go back to the system as soon as they
    are free. Batches have ever new shapes, and what is kept of them piles up. That costs hardly any time where the system
    has huge pages (docs/scale.md), so it is done only there, and only if the user has set nothing.
    """
    try:
        has_huge_pages = "[never]" not in HUGE_PAGES.read_text(encoding="ascii")
    except (OSError, ValueError):  # not Linux
        has_huge_pages = False
    return TUNABLES if has_huge_pages and not TUNABLES.keys() & os.environ.keys() else {}


def use_one_allocator() -> None:
    """Before pyarrow is imported: it takes its memory from the C library, which can give it back (`give_back`), and not from
    an allocator of its own, which keeps most of it. Unless the user has set it.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


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
