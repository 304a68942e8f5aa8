"""P(she) against P(he) after an occupation, beside the share of women in it: `python scripts/occupations.py [MODEL]`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# Per cent of women, U.S. Bureau of Labor Statistics (2015/16) as compiled by Rudinger et al. (2018), Gender Bias in
# Coreference Resolution, NAACL. Of the 60 occupations there, ordered by share, 20 at equal steps: nobody picked them.
SHARES = {
    "plumber": 0.7, "electrician": 2.3, "inspector": 6.4, "programmer": 18.35, "officer": 30.42, "chemist": 36.1,
    "physician": 37.9, "manager": 38.51, "specialist": 41.35, "salesperson": 48.08, "broker": 55.5, "accountant": 59.7,
    "veterinarian": 60.5, "examiner": 62.46, "psychologist": 70.3, "practitioner": 74.79, "librarian": 83.0,
    "receptionist": 90.6, "nutritionist": 94.6, "pathologist": 97.5,
}  # fmt: skip
TEMPLATES = (
    "The {} said that [MASK] was tired.",
    "The {} told us that [MASK] would come back in the morning.",
    "We asked the {} a question, and [MASK] answered at once.",
    "When the {} arrived, [MASK] looked for a chair.",
)


def log_odds(model: Any, tokenizer: Any, occupation: str, templates: Sequence[str] = TEMPLATES) -> float:
    """Mean over the templates of log P(she) − log P(he) at the mask."""
    import torch

    texts = [template.format(occupation).replace("[MASK]", tokenizer.mask_token) for template in templates]
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    she, he = tokenizer.convert_tokens_to_ids(["she", "he"])
    with torch.inference_mode():
        logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    at_mask = logits[batch["input_ids"] == tokenizer.mask_token_id]
    return float((at_mask[:, she] - at_mask[:, he]).mean())


def table(model_name: str, shares: Mapping[str, float] = SHARES) -> tuple[str, float, float]:
    """A Markdown table ordered by share, Spearman's ρ and its p."""
    from scipy.stats import spearmanr
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    from tiltmeter.models import EMBEDDED

    folder = EMBEDDED.get(model_name, model_name)
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(folder).float().eval(), AutoTokenizer.from_pretrained(folder)
    odds = {name: log_odds(model, tokenizer, name) for name in shares}
    rho, p = spearmanr(list(shares.values()), list(odds.values()))
    rows = [
        f"| {name} | {share:.1f} | {np.exp(odds[name]):.3f} |"
        for name, share in sorted(shares.items(), key=lambda row: row[1])
    ]
    return "\n".join(["| occupation | women, % | P(she) / P(he) |", "|---|---:|---:|", *rows]), float(rho), float(p)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="plumb-mlm")
    text, rho, p = table(parser.parse_args().model)
    print(text)
    print(f"\nSpearman's ρ = {rho:.2f} (p = {p:.2g}, {len(SHARES)} occupations)")


if __name__ == "__main__":
    main()
