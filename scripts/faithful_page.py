"""Writes what docs/faithful.md has from the catalog: `python scripts/faithful_page.py` (`--check` compares)."""

from __future__ import annotations

from collections.abc import Iterator

from generated_page import ROOT, between, write_or_check

from tiltmeter import catalog
from tiltmeter.families.kit.protocol import find_family, measures_of

PAGE = ROOT / "docs" / "faithful.md"
BEGIN, END = "<!-- from the catalog: begin -->\n", "<!-- from the catalog: end -->\n"
FAMILIES = ("pairs", "slots", "associations")
SENTENCES = "reference code, sentence by sentence, on tiny models"
DEFINITION = "no public code has it: code written from the definition"
HAND = "numbers worked out by hand"
CHECKED = {
    "aul": f"{SENTENCES} (kanekomasahiro/evaluate_bias_in_mlm)",
    "aula": f"{SENTENCES} (the same)",
    "cps": f"{SENTENCES} (the same, and nyu-mll/crows-pairs before it rounds)",
    "cps_nyu": f"{SENTENCES} (nyu-mll/crows-pairs), and published scores of bert-base-uncased",
    "cps_biasbench": f"{SENTENCES} (McGill-NLP/bias-bench)",
    "sss_kaneko": f"{SENTENCES} (kanekomasahiro/evaluate_bias_in_mlm)",
    "sss": f"{DEFINITION} (the diagonal of what `sss_kaneko` averages)",
    "all_masked": DEFINITION,
    "pll": f"{SENTENCES} (kanishkamisra/minicons)",
    "causal": f"{SENTENCES} (minicons)",
    "causal_mean": f"{SENTENCES} (minicons)",
    "stereoset_masked": f"{SENTENCES} (bias-bench)",
    "stereoset_masked_original": f"{SENTENCES} (moinnadeem/StereoSet)",
    "stereoset_causal": f"{SENTENCES} (bias-bench)",
    "bias_score": "what the reference codes print for tiny models; published totals of real models",
    "mean_preference": HAND,
    "ss": "what bias-bench and StereoSet's code print; published predictions of bert-base-cased",
    "lms": "the same",
    "icat": "the same",
    "kls": "reference code (nlply/robust-bias-evaluation-measures), overall and per bias type",
    "jss_liu": "the same",
    "jss": f"{DEFINITION} (numerical integration, two ways)",
    "mps": "a fill-mask pipeline, and " + HAND,
    "mps_all": HAND,
    "mnt": "the paper's examples, and " + HAND,
    "mnt_table": "ranks and values of the paper's Tables 2 and 4",
    "mps_gap": HAND,
    "stereotype_gap": HAND,
    "mnt_gap": HAND,
    "mps_gap_sd": HAND,
    "mnt_gap_sd": HAND,
    "lean": HAND,
    "coverage": HAND,
    "effect_size": "bias-bench, on stored vectors and on tiny models; published vectors of BERT",
    "mean_abs_effect": HAND,
    "ces": "reference code (weiguowilliam/CEAT), to 1e-9",
    "single_effect": f"{DEFINITION}; our reading, since the paper prints no formula",
    "ilps": f"{DEFINITION}, one query at a time",
    "ilps_causal": "ours: there is nothing to compare it with",
    "ilps_kurita": "the formula, computed apart; the authors' code reads the prior at another position",
    "group_variance": HAND,
    "occupation_r": "the same by numpy's functions, on made-up percentages",
    "occupation_slope": "the same",
    "occupation_difference": "the same",
    "stereotype_rate": "a loop written from the definition, on a tiny model and on the authors' log ratios",
}


def rows() -> Iterator[str]:
    """A row for each scorer, then for each measure of the three families of this page."""
    measures = {entry.name: entry for name in FAMILIES for entry in measures_of(find_family(name))}
    for kind, entries in (("score", catalog.entries("scorers")), ("measure", measures.values())):
        for entry in entries:
            cited = entry.citation.replace("|", "\\|").rstrip(".")
            yield f"| `{entry.name}` | {kind} | {cited} | {CHECKED.get(entry.name, 'not stated yet')} |"


def page() -> str:
    """The page with this part made anew."""
    table = "| name | | from | checked against |\n|---|---|---|---|\n" + "\n".join(rows()) + "\n"
    return between(PAGE.read_text(encoding="utf-8"), BEGIN, END, table)


if __name__ == "__main__":
    write_or_check(PAGE, page())
