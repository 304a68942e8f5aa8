"""Write the cards of the embedded models from research/page-tables/small-models.csv.gz: `python scripts/model_cards.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
from occupations import SHARES, table

from tiltmeter.models import EMBEDDED

ESTIMATES = Path(__file__).parents[1] / "research" / "page-tables" / "small-models.csv.gz"
SHOWN = {
    "masked": [
        ("crows-pairs", "cps", "bias_score"),
        ("crows-pairs", "aul", "bias_score"),
        ("stereoset", "sss", "lms"),
        ("stereoset", "sss", "ss"),
    ],
    "causal": [
        ("crows-pairs", "causal", "bias_score"),
        ("crows-pairs", "causal_mean", "bias_score"),
        ("stereoset", "causal", "lms"),
        ("stereoset", "causal", "ss"),
    ],
}
TEXT = """\
| share | source | taken from | licence |
|---|---|---|---|
| 47 % | English Wikipedia, core articles (about 2015) | jason-feng/wikiVisual @1c0fac92 | CC BY-SA 3.0 |
| 20 % | English Wikipedia, articles created 2008-09 (about 2014) | ZhouYii/PatchedDistro @961716d8 | CC BY-SA 3.0 |
| 10 % | English Wikipedia, new articles (2018) | Vibhas-hs-edu/WikiTasks @52b1f163 | CC BY-SA 3.0 |
| 13 % | Project Gutenberg fiction, authors active after 1880 (1,444 books, sampled) | LuEE-C/FewShotAuthorClassificationMetaLearning @4c84f818 | public domain in the US |
| 5 % | Wikinews | gucorpling/amalgum @a2dbd33e | CC BY 2.5 |
| 2.6 % | OpenStax textbooks (18 books, revisions that were CC BY) | openstax/osbooks-* | CC BY 4.0 |
| 1.4 % | UN General Debate speeches 1970-2024 | UNGDC, doi:10.7910/DVN/0TJX8Y | CC0 |
| < 1 % | Common Voice sentences; US presidential speeches; WordNet 3.0 glosses | common-voice/common-voice; nltk_data; WordNet 3.0 | CC0; public domain; WordNet licence |
"""


def card(name: str, estimates: pd.DataFrame) -> str:
    """The model card of one embedded model."""
    facts = json.loads((EMBEDDED[name] / "card.json").read_text("utf-8"))
    masked = facts["recipe"]["architecture"] == "bert"
    kind = "masked" if masked else "causal"
    parts = [
        f"# {name}",
        _what(facts, masked),
        "## Text\nAbout 44 million words, one paragraph or sentence a line, shuffled; one line in 200 was held out.\n\n"
        + TEXT,
        "Repositories are on GitHub. The text itself is not redistributed. WordNet 3.0"
        " is Copyright 2006 by Princeton University; its glosses are used under the WordNet licence.",
        "## How well it models English\n" + _quality(facts, masked),
        "## How it leans\nBy tiltmeter, with 95 % intervals (CrowS-Pairs: 1,508 pairs; StereoSet: 2,106 intrasentence triples); 50 is neutral"
        " but for lms, where 100 is ideal.\n\n" + _leans(estimates, name, kind),
    ]
    if masked:
        parts.append(_occupations(name))
    return (
        "\n\n".join(
            [*parts, _limits(), f"Weights: `model.safetensors`, sha256 `{facts['weights_sha256']}`. Licence: Apache-2.0."]
        )
        + "\n"
    )


def _what(facts: dict[str, Any], masked: bool) -> str:
    recipe = facts["recipe"]
    kind = "masked language model of BERT's" if masked else "causal language model of GPT-2's"
    letters = "cased" if recipe["cased"] else "uncased"
    pieces = "WordPiece" if masked else "byte-level BPE"
    return (
        f"A small {kind} architecture: {recipe['layers']} layers of width {recipe['width']}, {facts['parameters']:,} parameters,"
        f" {recipe['vocabulary']:,} {pieces} tokens, {letters}, at most {recipe['length']} tokens, half precision."
        f" It ships with tiltmeter so that a first run measures a real model without a download. It is for trying out and for testing"
        f" measures of bias, and for nothing else.\n\nTrained with `training/recipes/{recipe['name']}.toml`: {facts['steps']:,} steps,"
        f" {facts['tokens_seen'] / 1e9:.2f} billion tokens ({facts['tokens_seen'] / facts['tokens_of_text']:.0f} times through the text),"
        f" {facts['seconds'] / 60:.1f} minutes on one {facts['device']}, seed {recipe['seed']}. No dropout in training; the saved configuration has"
        f" {recipe['dropout_saved']} for those who fine-tune. The logged curve is in `training/logs`."
    )


def _quality(facts: dict[str, Any], masked: bool) -> str:
    found = facts["held_out"]
    if masked:
        return (
            f"On {found['lines']:,.0f} held-out lines, each alone, {found['tokens']:,.0f} tokens chosen (15 %, treated 80/10/10 as in training):"
            f" accuracy **{found['accuracy']:.3f}** over all chosen tokens; {found['accuracy_at_mask']:.3f} where the token was replaced by [MASK],"
            f" {found['accuracy_at_replaced']:.3f} where by a random word, {found['accuracy_at_kept']:.3f} where it was left as it is. Loss {found['loss']:.3f}."
        )
    return (
        f"On {found['lines']:,.0f} held-out lines, each alone after the beginning-of-text token: perplexity **{found['perplexity_per_word']:.1f}** per"
        f" word (between spaces), {found['perplexity']:.1f} per token ({found['tokens']:,.0f} tokens), next-token accuracy {found['accuracy']:.3f}."
    )


def _leans(estimates: pd.DataFrame, name: str, kind: str) -> str:
    rows = [
        f"| {bench} | {scorer} | {measure} | {value(estimates, name, bench, scorer, measure)} |"
        for bench, scorer, measure in SHOWN[kind]
    ]
    return "\n".join(["| benchmark | scorer | measure | value |", "|---|---|---|---|", *rows])


def value(estimates: pd.DataFrame, model: str, benchmark: str, scorer: str, measure: str) -> str:
    """One overall estimate with its interval."""
    wanted = {"model": model, "benchmark": benchmark, "scorer": scorer, "measure": measure, "by": "all"}
    found = estimates[(estimates[list(wanted)] == pd.Series(wanted)).all(axis=1)]
    if len(found) != 1:
        raise SystemExit(f"the runs hold {len(found)} rows of {wanted}")
    row = found.iloc[0]
    return f"{row['value']:.1f} [{row['low']:.1f}, {row['high']:.1f}]"


def _occupations(name: str) -> str:
    text, rho, p = table(name)
    return (
        '## Occupations\nP(she) / P(he) at the mask, averaged (geometrically) over four sentences such as "The plumber said that [MASK] was tired.", beside'
        " the share of women in the occupation (U.S. Bureau of Labor Statistics 2015/16, as compiled by Rudinger et al., 2018; 20 of their 60"
        f" occupations at equal steps). Spearman's ρ = **{rho:.2f}** (p = {p:.2g}, n = {len(SHARES)}).\n\n{text}"
    )


def _limits() -> str:
    return (
        "## Known limits\n- Eight million parameters and some 44 million words: it knows common English and little else, and rare words fall into several pieces."
        '\n- Its text is three quarters Wikipedia and an eighth fiction from about 1880 to 1930: "secretary" reads male (Secretary of State), "gay" often has its old sense,'
        " and disability, sexual orientation, and Asian and Muslim people outside Wikipedia are seldom mentioned. Its leanings are those of that text, weakened by its size."
        "\n- Benchmarks were not removed from the text (one CrowS-Pairs sentence was); StereoSet was not checked against."
        "\n- English only. Not for generating text that people read."
    )


def main() -> None:
    estimates = pd.read_csv(ESTIMATES)
    for name, folder in EMBEDDED.items():
        (folder / "README.md").write_text(card(name, estimates), "utf-8")


if __name__ == "__main__":
    main()
