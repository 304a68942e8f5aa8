"""Which requirements of frameworks an audit contributes evidence to, and what it leaves open. In our own words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Requirement:
    """A requirement, where it stands, what an audit contributes, and what it does not cover."""

    framework: str
    place: str
    topic: str
    contributes: str
    not_covered: str


REQUIREMENTS = (
    Requirement(
        "NIST AI RMF 1.0", "MEASURE 2.11", "fairness and bias are evaluated, and the results documented",
        "tests by domain with intervals, corrected p and what could have been detected; worst groups; digests of the data",
        "harm to the people affected in the deployed system, human and institutional bias, and biases that no item is about",
    ),
    Requirement(
        "NIST AI RMF 1.0", "MEASURE 2.1, 2.3",
        "test sets, metrics and tools are documented; performance is shown for deployment-like conditions",
        "the exact command, settings, versions and digests; evidence that a metric detects a planted bias",
        "conditions of your deployment: prompts, languages and users of your own",
    ),
    Requirement(
        "NIST AI RMF 1.0", "MEASURE 1.1, 1.3",
        "metrics are selected for the most significant risks, and assessed by others",
        "metrics selected by stored evidence, fixed before the model is run; a bundle that others can verify and repeat",
        "the choice of risks, and review by domain experts or affected communities",
    ),
    Requirement(
        "EU AI Act (Regulation 2024/1689)", "Article 10(2)(f), (g)",
        "data of high-risk systems are examined for possible biases, with measures against them",
        "signs of bias in the model that was trained on such data",
        "the examination of the training data themselves, their origin and labelling",
    ),
    Requirement(
        "EU AI Act (Regulation 2024/1689)", "Article 15",
        "accuracy, robustness and cybersecurity, with declared metrics",
        "intervals and repeatability of the bias metrics; language quality where it was measured",
        "accuracy in the intended purpose, feedback loops, security",
    ),
    Requirement(
        "EU AI Act (Regulation 2024/1689)", "Annex IV(2)(g), (3)",
        "technical documentation: test procedures, metrics, potentially discriminatory impacts, limits",
        "procedures, metrics, test logs and results per group, dated and sealed, and the limits stated here",
        "the system around the model, human oversight, signatures of those responsible, and all other parts of the annex",
    ),
    Requirement(
        "ISO/IEC TR 24027:2021", "assessment of bias and fairness",
        "measuring unwanted bias by suitable metrics, per group, over the life cycle",
        "metrics per group with uncertainty, comparison of releases, thresholds by rules",
        "sources of human cognitive, data and engineering bias before the model, and metrics on decisions about real people",
    ),
)  # fmt: skip
