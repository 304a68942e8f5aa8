"""What each item reads of each model: by how much the stereotype is preferred in it. One row for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.families import Answers
from tiltmeter.families.pairs.paired import pair_up
from tiltmeter.families.slots.fills import best_terms
from tiltmeter.studies.kit.domains import domain_of

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["model", "benchmark", "scorer", "item", "domain", "value"]


def item_readings(answers: Mapping[str, Answers]) -> pd.DataFrame:
    """Pairs: the score of the stereotypical sentence minus that of the other. Slots: the log-probability of the best word
    of those whom the sentence is about, minus that of the others. Only items about one domain, and only what is known.
    """
    import pandas as pd

    parts = [
        *(_pairs(answers["pairs"]) if "pairs" in answers else ()),
        *(_slots(answers["slots"]) if "slots" in answers else ()),
    ]
    return pd.concat(parts, ignore_index=True)[COLUMNS] if parts else pd.DataFrame(columns=COLUMNS)


def _pairs(answers: Answers) -> Iterator[pd.DataFrame]:
    import pandas as pd

    for paired in pair_up(answers):
        table = pd.DataFrame(
            {
                "item": paired.groups["item"].to_numpy(),
                "domain": [domain_of("", "bias_type", str(name)) for name in paired.groups["bias_type"]],
                "value": paired.scores["stereo"] - paired.scores["anti"],
            }
        )
        table = table[(table["domain"] != "") & table["value"].notna()]
        yield table.assign(model=paired.model, benchmark=paired.benchmark, scorer=paired.scorer)


def _slots(answers: Answers) -> Iterator[pd.DataFrame]:
    best = best_terms(answers.table)
    about = answers.items.drop_duplicates(["benchmark", "item"]).set_index(["benchmark", "item"])["target"]
    for (model, benchmark), rows in best.groupby(["model", "benchmark"], sort=False):
        wide = rows.pivot(index="item", columns="group", values="probability")
        if wide.shape[1] != 2:
            continue
        whom = about[benchmark].reindex(wide.index)
        known = whom.isin(wide.columns).to_numpy()
        wide, whom = wide[known], whom[known]
        first = np.log(wide.iloc[:, 0].to_numpy()) - np.log(wide.iloc[:, 1].to_numpy())
        sign = np.where(whom.to_numpy() == wide.columns[0], 1.0, -1.0)
        domains = [domain_of("", "group", str(group)) for group in whom]
        table = wide.reset_index()[["item"]].assign(domain=domains, value=sign * first)
        table = table[(table["domain"] != "") & np.isfinite(table["value"])]
        yield table.assign(model=model, benchmark=benchmark, scorer="slots")
