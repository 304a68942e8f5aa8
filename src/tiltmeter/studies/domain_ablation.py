"""Domain ablation: do intrinsic and extrinsic metrics agree better when both measure the same notion of bias?

Section 4 of Cao et al. (2022).
"""

from __future__ import annotations

from typing import Annotated

from tiltmeter.errors import UsageError
from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.studies.kit.ablations import changes_of, draw_changes, spoken
from tiltmeter.studies.kit.domain_pairs import Drawing, correlations, kept
from tiltmeter.studies.kit.domain_scores import gather_scores
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import Confidence, Resamples, Seed, check_settings
from tiltmeter.studies.kit.paper_metrics import as_in_the_paper

CITATION = "Cao et al. (2022), On the Intrinsic and Extrinsic Fairness Evaluation Metrics, ACL, Section 4."
READS = "any"


def domain_ablation(
    evidence: Evidence,
    *,
    replace: Annotated[
        list[str] | None, "OLD=NEW: another metric, or another benchmark of one (bold=bold-neutral); repeatable."
    ] = None,
    shared_groups: Annotated[bool, "Only the groups that both metrics have."] = False,
    domain: Annotated[list[str] | None, "Domain; repeatable. Default: all there are."] = None,
    paper: Annotated[bool, "Only the metrics and pairs of Cao et al.'s Tables 1 to 3, by their names."] = False,
    resamples: Resamples = 1000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> Finding:
    """Report changes of r over models when a metric is replaced, or computed over the groups that both metrics have.

    Before and after are about the same models; the interval of the difference draws models. Another notion of bias, prompts
    from elsewhere, without polar ones, or of another temperature are benchmarks with names of their own.
    """
    settings = check_settings(seed, resamples, confidence)
    if not replace and not shared_groups:
        raise UsageError(
            "domain-ablation needs --replace OLD=NEW, or --shared-groups.", code="missing-value", option="--replace"
        )
    how = Drawing(settings.resamples, settings.confidence, settings.seed)
    points = kept(gather_scores(evidence, None, settings.confidence), "domain", domain)
    pairs = correlations(as_in_the_paper(points) if paper else points, paper, how)
    table = changes_of(evidence.folders, points, pairs, (paper, tuple(replace or ()), shared_groups), how)
    drawn = {"changes": lambda: draw_changes(table)} if table["difference"].notna().any() else {}
    return Finding("domain_ablation", {"changes": table}, drawn, tuple(spoken(table)))
