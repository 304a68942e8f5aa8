"""refused_share: the percentage of questions that the model, or its server's content filter, refuses to answer."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures import Measure
from tiltmeter.measures.kit.shares import ratio

MEASURE = Measure(
    reads=("questions", "refused"),
    role="part",
    neutral=None,
    ideal=0.0,
    range=(0.0, 100.0),
    unit="%",
    cites="Röttger et al. (2024), XSTest: exaggerated safety behaviours in large language models, NAACL.",
)


def refused_share(questions: NDArray[np.float64], refused: NDArray[np.float64]) -> NDArray[np.float64]:
    """100·refused/questions. Compare groups with `--by target`: asymmetric refusals are a bias of their own.

    >>> float(refused_share(np.array([8.0]), np.array([2.0])))
    25.0
    """
    return 100.0 * ratio(refused, questions)
