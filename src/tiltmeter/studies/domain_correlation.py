"""Domain correlation: do intrinsic and extrinsic metrics find the same models biased, in each domain?

Tables 1 to 3 and Figure 1 of Cao et al. (2022).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tiltmeter.families.kit.evidence import Evidence
from tiltmeter.studies.kit.domain_figures import scatters
from tiltmeter.studies.kit.domain_pairs import Drawing, correlations, kept
from tiltmeter.studies.kit.domain_scores import gather_scores
from tiltmeter.studies.kit.domain_tables import matrix, sentences
from tiltmeter.studies.kit.finding import Finding
from tiltmeter.studies.kit.options import Confidence, Resamples, Seed, check_settings
from tiltmeter.studies.kit.paper_metrics import as_in_the_paper, printed_tables
from tiltmeter.studies.kit.shared_groups import groups_of

CITATION = (
    "Cao et al. (2022), On the Intrinsic and Extrinsic Fairness Evaluation Metrics for Contextualized Language "
    "Representations, ACL, Tables 1 to 3; Spearman (1904) for attenuation."
)
READS = "any"


def domain_correlation(
    evidence: Evidence,
    *,
    domain: Annotated[
        list[str] | None, "Domain: gender, race, religion or another; repeatable. Default: all there are."
    ] = None,
    metric: Annotated[list[str] | None, "Metric as the table names it; repeatable. Default: all there are."] = None,
    scores: Annotated[
        Path | None, "Domain scores of others (CSV: model, metric, domain, value; kind and error if known)."
    ] = None,
    paper: Annotated[bool, "Only the metrics and pairs of Cao et al.'s Tables 1 to 3, by their names."] = False,
    resamples: Resamples = 1000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> Finding:
    """Pearson's r and Spearman's ρ over models, for every intrinsic with every extrinsic metric, in each domain.

    A domain score is the variance of a metric over the protected groups. p is by permutation, Holm-corrected within a
    domain; the interval draws models. `clear_r` is r without the errors of measurement of the two scores (their standard
    errors are read off their intervals), with an interval; there is none where fewer than 40 % of a score's variance over
    models is more than error. Reliabilities are lower bounds: errors that models share are in them. Where a run has only
    one kind of metric, all pairs are taken.
    """
    settings = check_settings(seed, resamples, confidence)
    points = kept(gather_scores(evidence, scores, settings.confidence), "domain", domain).drop(columns="without_temperature")
    points = kept(as_in_the_paper(points) if paper else points, "metric", metric)
    table = correlations(points, paper, Drawing(settings.resamples, settings.confidence, settings.seed))
    tables = {"correlations": table, **dict(printed_tables(table)), "matrix": matrix(table), "scores": points}
    tables |= groups_of(evidence.folders, points)
    drawings = {f"scatter-{name}": scatters(points, table, name) for name in dict.fromkeys(table["domain"])}
    models = {"models": sorted(set(points["model"]))}
    return Finding("domain_correlation", tables, drawings, tuple(sentences(table)), models)
