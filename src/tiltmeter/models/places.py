"""Places of models: an embedded one, a folder, a .gguf file, or the hub and its cache."""

from __future__ import annotations

import os
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

from tiltmeter.errors import ModelError
from tiltmeter.models.hashing import WEIGHT_PATTERNS, weight_files
from tiltmeter.models.wrappers import BASE, WRAPPER
from tiltmeter.storage.compression import is_file, is_folder, is_there, reading, require_file
from tiltmeter.storage.places import at_home

EMBEDDED = {name: Path(__file__).parent / "data" / name for name in ("plumb-mlm", "plumb-clm")}
"""Our own small models (see `training/`), so that a first run measures something real without a download."""
READ_TOO = (".json", ".txt", ".model")
"""Files that transformers reads besides the weights: configuration and tokenizer."""
LONGEST_ID = 200
"""Characters; the hub allows fewer."""


GGUF_PACKAGES = ("gguf", "accelerate")
"""Packages that transformers reads .gguf files with."""


def require_gguf(name: str) -> None:
    """Raise an error if a package for .gguf files is missing, before transformers logs its own."""
    missing = [package for package in GGUF_PACKAGES if find_spec(package) is None]
    if missing:
        raise ModelError(
            f"{name} is a .gguf file, and packages to read it are missing: pip install {' '.join(missing)}.",
            code="missing-package", model=name, packages=missing,
        )  # fmt: skip


def folder_of(name: str, revision: str | None) -> tuple[Path, str | None]:
    """The folder to load from and, for GGUF, the file inside it."""
    path = EMBEDDED.get(name, at_home(name))
    if is_file(path) and path.suffix == ".gguf":
        return path.parent, path.name
    if is_folder(path):
        if is_there(path / "config.json"):
            return path, None
        ggufs = sorted(path.glob("*.gguf"))
        if len(ggufs) == 1:
            return path, ggufs[0].name
        if ggufs:
            raise ModelError(
                f"{path} holds {len(ggufs)} .gguf files; name one of them, e.g. {ggufs[0]}.",
                code="ambiguous-name",
                folder=path,
                names=[file.name for file in ggufs],
            )
        if (path / WRAPPER).is_file():  # its base alone would be another model
            raise ModelError(
                f"{path} is a wrapped model, and this needs a plain one, such as its base, {path / BASE}.",
                code="wrong-model-kind",
                model=path,
                kind="wrapper",
            )
        raise ModelError(
            f"{path} has no config.json, so it is not a Hugging Face model folder.",
            code="missing-file",
            file=path / "config.json",
        )
    if (
        is_there(path)
        or len(name) > LONGEST_ID
        or name.startswith((".", "/", "~"))
        or name.count("/") > 1
        or os.sep * 2 in name
    ):
        raise ModelError(f"There is no model folder {path}.", code="missing-file", file=path)
    return _hub_folder(name, revision), None


def in_hub_cache(name: str, revision: str | None) -> bool:
    """Return True if a hub model is in the local cache. No request is sent to the hub."""
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or not 0 < len(name) <= LONGEST_ID:
        return False
    import huggingface_hub

    try:
        return isinstance(huggingface_hub.try_to_load_from_cache(name, "config.json", revision=revision), str)
    except (OSError, ValueError):  # no such name is possible
        return False


def display_name(name: str) -> str:
    """A folder goes by its own name, without the way to it; a hub id stays whole."""
    path = at_home(name)
    return path.resolve().name.removesuffix(".gguf") if is_there(path) else name


def weights_in(folder: Path) -> list[Path]:
    """The weight files of a folder; refuses one without, or with files that it needs and that cannot be read."""
    with reading(folder):
        present = sorted(folder.iterdir())
    files = weight_files(folder)
    if not files:
        raise ModelError(
            f"{folder} has no weights: expected one of {', '.join(WEIGHT_PATTERNS)} in it.",
            code="missing-file",
            file=folder,
            expected=list(WEIGHT_PATTERNS),
        )
    for path in [*(path for path in present if path.suffix in READ_TOO and not is_folder(path)), *files]:
        require_file(path)
        with reading(path), path.open("rb"):
            pass
    return files


CAUSES = {
    "GatedRepoError": "access to it has to be requested on its page, and a token is needed",
    "RepositoryNotFoundError": "it does not exist there, or it is private",
    "RevisionNotFoundError": "it has no such revision",
    "HFValidationError": "the name is not a hub id",
    "OfflineModeIsEnabled": "offline mode is on, and it is not in the cache",
    "ConnectError": "there is no connection",
    "ConnectionError": "there is no connection",
    "Timeout": "the hub did not answer in time",
}
"""Kinds of errors of the hub client, the most specific first, and what they mean."""


def _cause(error: BaseException) -> str:
    """Why a download failed, in words; the error itself keeps what the hub client said."""
    kinds: set[str] = set()
    cause: BaseException | None = error
    while cause is not None:
        kinds |= {kind.__name__ for kind in type(cause).__mro__}
        cause = cause.__cause__ or cause.__context__
    for known, text in CAUSES.items():
        if known in kinds or any(known in name for name in kinds) or known in str(error):
            return text
    return str(error).strip().split("\n")[0].rstrip(".")[:300]


def _hub_folder(name: str, revision: str | None) -> Path:
    """Download (or find in the hub cache) configuration, tokenizer and weights; safetensors if there are any."""
    import huggingface_hub
    from huggingface_hub.utils import enable_progress_bars  # type: ignore[attr-defined]

    if not huggingface_hub.constants.HF_HUB_DISABLE_PROGRESS_BARS:
        enable_progress_bars()  # gigabytes take minutes; `quieten` switches them off again
    small = ["*.json", "*.txt", "*.model", "*.py", "*.jinja"]
    for weights in ("*.safetensors", "*.bin"):
        try:
            snapshot = huggingface_hub.snapshot_download(
                name, revision=revision, allow_patterns=[*small, weights], ignore_patterns=["*/*"]
            )
        except Exception as error:  # the hub client has dozens of kinds; each means that there is no download
            reason = str(error).strip().split("\n")[0][:300]
            near = get_close_matches(name, EMBEDDED, 1, cutoff=0.75)
            meant = f" Did you mean '{near[0]}'?" if near else ""
            raise ModelError(
                f"There is no folder '{name}', and it could not be downloaded from the Hugging Face Hub: {_cause(error)}."
                f"{meant} A model is a hub id, a folder with config.json and weights, a .gguf file, URL#NAME of a server, "
                f"or an embedded model: {', '.join(EMBEDDED)}.",
                code="missing-model", model=name, reason=reason, meant=near[0] if near else None,
            ) from None  # fmt: skip
        if weight_files(Path(snapshot)):
            break
    return Path(snapshot)
