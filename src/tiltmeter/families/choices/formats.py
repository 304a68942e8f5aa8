"""Questions in many formats: one choice a question for each protocol, prompt and order of the options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.families.choices.outcomes import counts_of
from tiltmeter.families.kit.answers import Answers

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
CONTROL = "question_only"
ALL_ORDERS = "mean of all"


@dataclass(frozen=True)
class Format:
    """One way to ask, as the name of its scorer says, and the order of the options."""

    scorer: str
    order: str

    @property
    def name(self) -> str:
        """Name of the format in tables."""
        return self.scorer if self.order == ALL_ORDERS else f"{self.scorer}, order {self.order}"

    def parts(self) -> dict[str, str]:
        """Split the scorer's name into what was varied.

        >>> Format("letters+chat@instructed", "021").parts()
        {'protocol': 'letters', 'prompt': 'instructed', 'chat': 'yes', 'order': '021'}
        """
        head, _, prompt = self.scorer.partition("@")
        protocol, *more = head.split("+")
        chat = "yes" if "chat" in more else "no"
        return {"protocol": protocol, "prompt": prompt or "plain", "chat": chat, "order": self.order}


def formats_of(answers: Answers, model: str, benchmark: str) -> Iterator[tuple[Format, pd.DataFrame]]:
    """Yield every format of a model with its choices; the control without a context is no format.

    Where there are several orders, each order alone is a format too.
    """
    ours = answers.where(model=model, benchmark=benchmark)
    options = ours.tables.get("options")
    for scorer, rows in ours.table.groupby("scorer", sort=False):
        if CONTROL in str(scorer):
            continue
        yield Format(str(scorer), ALL_ORDERS), rows
        if options is None or rows["n_orders"].max() < 2:
            continue
        of_scorer = options[options["scorer"] == scorer]
        for order, some in of_scorer.groupby("order"):
            best = some.loc[some.groupby("item")["logprob"].idxmax()].set_index("item")["answer"]
            yield Format(str(scorer), str(order)), rows.assign(chosen=rows["item"].map(best).astype(float).to_numpy())


def leans_of(rows: pd.DataFrame) -> pd.Series[Any]:
    """Give the side of each answer to an ambiguous question: 1 with the stereotype, −1 against it, 0 unknown."""
    import pandas as pd

    counts = counts_of(rows)
    asked = (counts["asked_amb"] > 0) & rows["stereotyped"].notna().to_numpy()
    return pd.Series((counts["stereo_amb"] - counts["anti_amb"])[asked], index=rows["item"].to_numpy()[asked])


def variance_components(leans: Floats, templates: NDArray[np.object_]) -> dict[str, float]:
    """Split the variance of answers (questions × formats) into templates, questions, formats and the rest.

    Components by the method of moments, for questions nested in templates and crossed with formats; a negative one is 0.
    The rest is what a question answers differently in different formats.

    >>> parts = variance_components(np.array([[1.0, 1.0], [1.0, 1.0], [-1.0, -1.0], [-1.0, -1.0]]), np.array(list("aabb")))
    >>> {name: round(value, 3) for name, value in parts.items()}
    {'templates': 2.0, 'questions': 0.0, 'formats': 0.0, 'questions x formats': 0.0}
    """
    n, k = leans.shape
    names, code = np.unique(templates.astype(str), return_inverse=True)
    sizes = np.bincount(code).astype(np.float64)
    mean, of_item, of_format = leans.mean(), leans.mean(axis=1), leans.mean(axis=0)
    of_template = np.bincount(code, of_item) / sizes
    squares = {
        "templates": k * float((sizes * (of_template - mean) ** 2).sum()),
        "questions": k * float(((of_item - of_template[code]) ** 2).sum()),
        "formats": n * float(((of_format - mean) ** 2).sum()),
    }
    rest = float(((leans - mean) ** 2).sum()) - sum(squares.values())
    freedom = {"templates": len(names) - 1, "questions": n - len(names), "formats": k - 1, "rest": (n - 1) * (k - 1)}
    mean_square = {name: squares[name] / freedom[name] if freedom[name] else np.nan for name in squares}
    noise = rest / freedom["rest"] if freedom["rest"] else np.nan
    size = (n - float((sizes**2).sum()) / n) / max(1, freedom["templates"])
    within = mean_square["questions"] if freedom["questions"] else noise
    found = {
        "templates": (mean_square["templates"] - within) / (k * size),
        "questions": (within - noise) / k,
        "formats": (mean_square["formats"] - noise) / n,
        "questions x formats": noise,
    }
    return {name: max(0.0, float(np.nan_to_num(value))) for name, value in found.items()}
