"""Where the numbers came from: the manifests, as readable tables and in full.

Pages are shared, so they do not show folders of the machine that made them: absolute paths are cut to the name at their
end. The run folder keeps the manifest as it was written; hashes identify the files.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tiltmeter.display import share_text
from tiltmeter.reporting.html.material import Material, Source

FOLDERS = re.compile(r"""(?<![\w.:/~\\-])(?:~|[A-Za-z]:)?(?:[/\\]+[^/\\\s"']+)+[/\\]+(?=[^/\\\s"'])""")
"""The folders of an absolute path, in POSIX or Windows spelling; not those of a relative path or of a web address."""
WHOLE = re.compile(r"(?:~|[A-Za-z]:)?[/\\].*[/\\](?=[^/\\]+$)")
"""Pattern for a text that is only a path: its names may have spaces."""


@dataclass(frozen=True)
class Origin:
    """The origin of one run."""

    label: str
    facts: tuple[tuple[str, str], ...]
    models: tuple[dict[str, str], ...]
    benchmarks: tuple[dict[str, str], ...]
    manifest: str


def origins(material: Material) -> list[Origin]:
    """The origins of all runs."""
    return [_origin(source) for source in material.sources]


def _origin(source: Source) -> Origin:
    manifest = without_folders(source.manifest)
    options, versions = manifest.get("asked", {}), manifest.get("versions", {})
    settings = source.settings()
    facts = {
        "status": manifest.get("status"),
        "tiltmeter": manifest.get("tiltmeter"),
        "started": manifest.get("started"),
        "seconds": manifest.get("seconds"),
        "seed": settings.seed,
        "resamples": f"{settings.resamples:,}",
        "confidence": share_text(settings.confidence, 0),
        "drawn": None if settings.clusters else "every item by itself, also those of one cluster",
        "items": "all" if options.get("limit") is None else f"the first {options['limit']:,}",
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "platform": manifest.get("platform"),
        "command": " ".join(["tiltmeter", *map(str, manifest["command"][1:])]) if manifest.get("command") else None,
    }
    evaluations = [without_folders(evaluation) for evaluation in source.evaluations()]
    return Origin(
        source.label,
        tuple((name, str(value)) for name, value in facts.items() if value not in (None, "")),
        _once(_model(evaluation["model"], source) for evaluation in evaluations),
        _once(_benchmark(evaluation["benchmark"], source) for evaluation in evaluations),
        json.dumps(manifest, indent=2, ensure_ascii=False, default=str),
    )


def without_folders(value: Any) -> Any:
    """The value with every absolute path cut to its last name.

    >>> without_folders({"model": "/home/ann/models/bert", "relative": "runs/mine", "web": "https://a.org/b/c"})
    {'model': '…/bert', 'relative': 'runs/mine', 'web': 'https://a.org/b/c'}
    >>> without_folders(["-m", r"C:\\Users\\Ann\\bert", "--data-dir=/home/ann/data", "and/or"])
    ['-m', '…/bert', '--data-dir=…/data', 'and/or']
    """
    if isinstance(value, dict):
        return {name: without_folders(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_folders(part) for part in value]
    return FOLDERS.sub("…/", WHOLE.sub("…/", value) if WHOLE.match(value) else value) if isinstance(value, str) else value


def _once(rows: Any) -> tuple[dict[str, str], ...]:
    return tuple({tuple(row.items()): row for row in rows}.values())


def _model(facts: dict[str, Any], source: Source) -> dict[str, str]:
    tokenizer = facts.get("tokenizer") or {}
    return {
        "model": source.models.get(facts.get("shown_as", ""), str(facts.get("shown_as", ""))),
        "from": str(facts.get("name", "")) + (f" @ {facts['revision']}" if facts.get("revision") else ""),
        "computed in": " on ".join(str(facts[key]) for key in ("precision", "device") if facts.get(key)),
        "weights sha256": str(facts.get("weights_sha256", "")),
        "tokenizer sha256": str(tokenizer.get("sha256", "")),
    }


def _benchmark(facts: dict[str, Any], source: Source) -> dict[str, str]:
    return {
        "benchmark": source.benchmarks.get(facts["name"], facts["name"]),
        "from": str(facts.get("source") or ""),
        "items": f"{facts['items']:,}" if facts.get("items") else "–",
        "data sha256": str(facts.get("data_sha256") or ""),
    }
