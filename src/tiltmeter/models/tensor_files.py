"""Headers of safetensors files: eight bytes with a length, then JSON that names each tensor, its type, shape and place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LENGTH_BYTES = 8


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """Read the facts of each tensor by its name, without reading tensors.

    Args:
        path: A safetensors file.

    Returns:
        dtype, shape and data_offsets by name, and where in the file the data begin.

    Raises:
        ValueError: The header is longer than the file, or is not JSON.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        if length > path.stat().st_size:
            raise ValueError(f"a header of {length} bytes in {path}")
        header = json.loads(file.read(length))
    return {name: facts for name, facts in header.items() if name != "__metadata__"}, LENGTH_BYTES + length
