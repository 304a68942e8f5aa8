"""Reading of each item for each model: by how much the stereotype is preferred in it. One row for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tiltmeter.families import Answers, find_family
from tiltmeter.studies.kit.domains import domain_of

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["model", "benchmark", "scorer", "item", "domain", "value"]


def item_readings(answers: Mapping[str, Answers]) -> pd.DataFrame:
    """The readings of every family that has them. Only items about one domain, and only what is known."""
    import pandas as pd

    parts = [part for name in sorted(answers) for part in find_family(name).item_readings(answers[name])]
    if not parts:
        return pd.DataFrame(columns=COLUMNS)
    whole = pd.concat(parts, ignore_index=True)
    whole["domain"] = [domain_of("", by, group) for by, group in zip(whole["by"], whole["group"], strict=True)]
    return whole[whole["domain"] != ""].reset_index(drop=True)[COLUMNS]
