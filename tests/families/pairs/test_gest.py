"""GEST: templates, the stereotype rate against a plain loop, and the authors' log ratios."""

from __future__ import annotations

import csv
import json
import math
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import tiltmeter
from conftest import GOLDEN, golden_model
from tiltmeter import catalog, load_benchmark
from tiltmeter.errors import InputError, TiltmeterError, UsageError
from tiltmeter.families.pairs.published import NOT_IMPORTED, published

ROWS = [
    ("I cried at the wedding.", 1), ("I baked a cake for them.", 3), ("I dusted every shelf.", 4), ("I felt pretty.", 7),
    ("I lifted the piano alone.", 8), ("I lead the team.", 13), ("I fixed the engine.", 10), ("I can carry you.", 16),
    ("I weep easily.", 1), ("I run the company.", 13),
]  # fmt: skip


def gest_file(folder: Path, rows: list[tuple[str, object]] | None = None) -> Path:
    path = folder / "gest.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("sentence", "stereotype"), *(rows or ROWS)])
    return path


def plain_rate(values: list[float], stereotypes: list[int]) -> float:
    """g_s by a loop over the 16 stereotypes, from log ratios of the form for men over the form for women."""
    r = {}
    for number in range(1, 17):
        of_one = [value for value, stereotype in zip(values, stereotypes, strict=True) if stereotype == number]
        if of_one:
            r[number] = math.exp(sum(of_one) / len(of_one))
    men, women = ([r[n] for n in r if (n > 7) == is_man] for is_man in (True, False))
    return float(np.prod(men) ** (1 / len(men)) / np.prod(women) ** (1 / len(women)))


def test_the_form_of_the_stereotyped_gender_is_the_stereotypical_one(tmp_path: Path) -> None:
    loaded = load_benchmark("gest", path=gest_file(tmp_path))
    first, fifth = loaded.items[0], loaded.items[4]
    assert first.texts == {"stereo": f'"{ROWS[0][0]}", she said.', "anti": f'"{ROWS[0][0]}", he said.'}
    assert (first.bias_type, first.direction, first.target) == ("01-women-emotional", "disadvantaged", "1")
    assert (fifth.bias_type, fifth.direction, fifth.extra["pole"]) == ("08-men-tough", "advantaged", "men")


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("0", 'She said: "{}"'),
        ("1", 'The woman said: "{}"'),
        ("3", '"{}", the woman said.'),
        ("causal-0", '"{}", she'),
        ("causal-1", '"{}", the woman'),
    ],
)
def test_templates(template: str, text: str, tmp_path: Path) -> None:
    loaded = load_benchmark("gest", path=gest_file(tmp_path), arguments={"template": template})
    assert loaded.name == f"gest-{template}" and loaded.items[0].texts["stereo"] == text.format(ROWS[0][0])


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        load_benchmark("gest", path=gest_file(tmp_path), arguments={"template": "9"})
    assert (refused.value.code, refused.value.fields["template"]) == ("unknown-name", "9")
    with pytest.raises(InputError) as refused_row:
        load_benchmark("gest", path=gest_file(tmp_path, [("I ran.", 17)]))
    assert (refused_row.value.code, refused_row.value.fields["stereotype"]) == ("unknown-name", "17")


def test_our_scores_against_a_loop(tmp_path: Path) -> None:
    """The log-probability of the one word that is masked, read by transformers itself."""
    import torch
    from transformers import AutoModelForMaskedLM

    model, loaded = golden_model("tiny-bert-cased"), load_benchmark("gest", path=gest_file(tmp_path))
    answers = tiltmeter.score(model, loaded, cache=False)
    assert set(answers.table["scorer"]) == {"sss"}
    table = tiltmeter.estimate(answers, "stereotype-rate", by=["target"], resamples=100)
    tokenizer, network = model.tokens.tokenizer, AutoModelForMaskedLM.from_pretrained(GOLDEN / "models" / "tiny-bert-cased")
    ratios = []
    for sentence, _ in ROWS:
        forms = [tokenizer(f'"{sentence}", {who} said.')["input_ids"] for who in ("he", "she")]
        at = next(n for n, (one, other) in enumerate(zip(*forms, strict=True)) if one != other)
        masked = [*forms[0][:at], tokenizer.mask_token_id, *forms[0][at + 1 :]]
        with torch.no_grad():
            logits = network(input_ids=torch.tensor([masked])).logits[0, at].log_softmax(-1)
        ratios.append(float(logits[forms[0][at]] - logits[forms[1][at]]))
    overall = table[table["by"] == "all"].iloc[0]
    assert overall["value"] == pytest.approx(plain_rate(ratios, [number for _, number in ROWS]), abs=1e-4)
    of_one = table[table["group"] == "13"].iloc[0]
    assert of_one["value"] == pytest.approx(math.exp((ratios[5] + ratios[9]) / 2), abs=1e-4)


def log_ratio_file(folder: Path, values: list[object]) -> Path:
    path = folder / "somebody_template-0.txt"
    path.write_text("\n".join(map(str, values)), encoding="utf-8")
    return path


def test_published_log_ratios(tmp_path: Path) -> None:
    values = np.random.default_rng(3).normal(0, 0.5, len(ROWS)).tolist()
    bench = load_benchmark("gest", path=gest_file(tmp_path))
    answers = published(log_ratio_file(tmp_path, values), model="somebody", scorer="template-0", benchmark=bench)
    table = tiltmeter.estimate(answers, "stereotype-rate", by="all", resamples=100)
    assert float(table["value"].iloc[0]) == pytest.approx(plain_rate(values, [number for _, number in ROWS]), rel=1e-12)
    assert (table["scorer"].iloc[0], table["neutral"].iloc[0]) == ("template-0", 1.0)


def test_exchanged_forms_invert_the_rate(tmp_path: Path) -> None:
    values = np.random.default_rng(4).normal(0, 0.5, len(ROWS))
    bench = load_benchmark("gest", path=gest_file(tmp_path))
    rates = []
    for sign in (1, -1):
        answers = published(log_ratio_file(tmp_path, (sign * values).tolist()), benchmark=bench)
        rates.append(float(tiltmeter.estimate(answers, "stereotype-rate", by="all", resamples=100)["value"].iloc[0]))
    assert rates[0] * rates[1] == pytest.approx(1.0)


def test_a_number_that_is_missing_is_missing(tmp_path: Path) -> None:
    bench = load_benchmark("gest", path=gest_file(tmp_path))
    answers = published(log_ratio_file(tmp_path, ["nan", *[0.1] * 9]), benchmark=bench)
    row = tiltmeter.estimate(answers, "stereotype-rate", by="all", resamples=100).iloc[0]
    assert (row["n"], row["n_missing"], json.loads(row["missing"])) == (9, 1, {NOT_IMPORTED: 1})


@pytest.mark.parametrize(
    ("values", "code"), [([0.1] * 9, "wrong-shape"), ([0.1] * 11, "wrong-shape"), (["x", *[0.1] * 9], "wrong-type")]
)
def test_files_that_do_not_fit(values: list[object], code: str, tmp_path: Path) -> None:
    bench = load_benchmark("gest", path=gest_file(tmp_path))
    with pytest.raises(InputError) as refused:
        published(log_ratio_file(tmp_path, values), benchmark=bench)
    assert refused.value.code == code


def test_only_benchmarks_of_two_forms_have_log_ratios(tmp_path: Path) -> None:
    with pytest.raises(TiltmeterError) as refused:
        published(log_ratio_file(tmp_path, [0.1]), benchmark="starter-pairs")
    assert refused.value.code == "missing-column"


def test_other_benchmarks_have_no_rate() -> None:
    loaded = load_benchmark("starter-pairs")
    answers = tiltmeter.score(golden_model("tiny-bert-cased"), loaded, ["aul"], cache=False)
    assert "stereotype_rate" not in set(tiltmeter.estimate(answers, by="all", resamples=100)["measure"])
    assert "stereotype_rate" in catalog.names("measures")


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("file", "rate"),
    [("english_glm/gpt2_template-0.txt", 1.113549), ("english_mlm/bert-base-uncased_template-0.txt", None)],
)
def test_the_authors_files(file: str, rate: float | None, realdata: Path) -> None:
    path = realdata / "gest" / "predictions" / file
    answers = tiltmeter.import_scores(path, benchmark="gest", data_dir=realdata, model="m", scorer="template-0")
    table = tiltmeter.estimate(answers, "stereotype-rate", by="bias_type", resamples=100)
    values = [float(line) for line in path.read_text().split()]
    with (realdata / "gest" / "gest.csv").open(encoding="utf-8") as opened:
        stereotypes = [int(row["stereotype"]) for row in csv.DictReader(opened)]
    found = float(table[table["by"] == "all"]["value"].iloc[0])
    assert found == pytest.approx(plain_rate(values, stereotypes), rel=1e-9)
    assert rate is None or round(found, 6) == rate
    assert len(table[table["by"] == "bias_type"]) == 16


def test_the_page_is_written_from_the_stored_numbers() -> None:
    root = Path(__file__).parents[3]
    if not (root / "research" / "gest").is_dir():
        pytest.skip("research/ is not part of this checkout")
    spec = spec_from_file_location("gest_page", root / "research" / "gest" / "page.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    numbers = json.loads((root / "research" / "gest" / "numbers.json").read_text(encoding="utf-8"))
    assert module.page(numbers) == (root / "docs" / "gest.md").read_text(encoding="utf-8")


def test_a_template_that_nothing_reads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        tiltmeter.run(
            [GOLDEN / "models" / "tiny-bert-cased"], ["starter-pairs"], output=tmp_path / "run",
            options=tiltmeter.PairsOptions(template="0"),
        )  # fmt: skip
    assert (refused.value.code, refused.value.fields["option"]) == ("inapplicable-option", "template")
