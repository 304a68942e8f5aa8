"""Cases in which a number would have been wrong without a word; each was once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import transformers

import tiltmeter
from conftest import GOLDEN, golden_model
from support.raising import raises
from support.wording import codes_of
from test_estimating import make_scores
from tiltmeter import Answers, Benchmark, Item, TiltmeterError, catalog
from tiltmeter.probes.pooling import TOO_LONG
from tiltmeter.runs import load_answers
from tiltmeter.runs.run import run
from tiltmeter.stats.differences import paired_difference
from tiltmeter.stats.estimates import Difference
from tiltmeter.stats.settings import Settings

BERT, GPT = GOLDEN / "models" / "tiny-bert-cased", GOLDEN / "models" / "tiny-gpt2"
QUICK = {"resamples": 100}


def test_no_p_value_out_of_too_few_items() -> None:
    one = make_scores([2.0, 5.0], [1.0, 0.0], model="one")
    two = make_scores([3.0, 1.0], [1.0, 4.0], model="two")
    table = tiltmeter.compare(Answers.concat([one, two]), measures=["kls"], resamples=200)
    assert "too few" in table.iloc[0]["note"]
    assert np.isnan(table.iloc[0]["p"]) and np.isnan(table.iloc[0]["low"])
    singles = [make_scores(a, [0.0] * 4, types=list("abcd"), model=m) for m, a in (("x", [1.0] * 4), ("y", [-1.0] * 4))]
    row = tiltmeter.compare(Answers.concat(singles), measures=["bias_score"], resamples=200).iloc[0]
    assert "too few" in row["note"] and np.isnan(row["low"])
    assert row["p"] == 0.125  # the exact test still says what four disagreements are worth


def test_one_text_in_twenty_six_is_no_difference() -> None:
    """Draws without that text give 0, though their mean lies beside the difference by chance."""
    draws = np.repeat([0, 1, 2, 3], [385, 365, 190, 60]) / 26  # as of 1,000 draws: their mean is 0.925 texts, not 1
    known = Difference("b", "labels", "s", "flip_rate", "all", "all", "x", "y", n=26)
    measure = catalog.find("measures", "flip_rate")
    assert measure.spec.is_one_sided and draws.mean() < 1 / 26
    row = paired_difference(known, [2 / 26, 1 / 26], [1 / 26 + draws, np.full(1000, 1 / 26)], measure, Settings(1000))
    assert row.p > 0.5 and row.low <= 0


def test_small_bias_types_do_not_make_an_interval_narrow() -> None:
    """Draws from two pairs vary half as much as they should: what type a pair is of must not make it evidence."""
    rng = np.random.default_rng(0)
    likes = rng.normal(size=40)
    widths = []
    for types in ([f"t{n // 2}" for n in range(40)], [f"t{n}" for n in range(40)], ["t"] * 40):
        row = tiltmeter.estimate(make_scores(likes, np.zeros(40), types=types), ["bias_score"], by="all", resamples=2000)
        widths.append(float(row["high"].iloc[0] - row["low"].iloc[0]))
    assert widths == pytest.approx([30.0] * 3, abs=3.0)  # of 40 pairs Wilson's has 29 or 30


def test_no_interval_without_width() -> None:
    scores = make_scores([2.0, 5.0], [1.0, 0.0])
    table = tiltmeter.estimate(scores, by="all", resamples=100)
    known = table[table["low"].notna()]
    assert (known["high"] > known["low"]).all()
    split = make_scores([1.0] * 3 + [-1.0] * 3, [0.0] * 6, types=["x"] * 3 + ["y"] * 3)
    row = tiltmeter.estimate(split, ["bias_score"], by="all", resamples=100).iloc[0]
    assert row["value"] == 50 and row["low"] < 20 and row["high"] > 80
    alike = tiltmeter.estimate(make_scores([1.0] * 6, [0.0] * 6), ["bias_score"], by="all", resamples=100).iloc[0]
    assert "all resamples" in alike["note"] and alike["low"] < 60 and alike["high"] == 100


def test_equal_distributions_are_said_to_be_equal() -> None:
    same = [1.0, 2.0, 3.0, 4.0]
    table = tiltmeter.estimate(make_scores(same, same), ["kls"], by="all", resamples=100)
    assert table.iloc[0]["value"] == 50 and "the same" in table.iloc[0]["note"]


def test_ties_do_not_hide_a_lean_from_ss() -> None:
    scores = make_scores([1.0] * 50 + [0.0] * 50, [0.0] * 100)
    scores.table["target"] = "t"
    table = tiltmeter.estimate(scores, ["ss", "bias_score"], by="all", resamples=500).set_index("measure")
    assert table.loc["ss", "value"] == 50
    assert table.loc["ss", "p"] < 0.01 and table.loc["bias_score", "p"] < 0.01


def test_the_maximum_length_is_part_of_the_cache_key(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(BERT, folder)
    assert tiltmeter.score(folder, "starter-pairs", ["aul"]).to_pandas()["score"].notna().all()
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"model_max_length": 12}))
    again = tiltmeter.score(folder, "starter-pairs", ["aul"]).to_pandas()
    assert again["score"].isna().sum() > 50
    assert set(again["reason"].dropna()) == {TOO_LONG.format(12)}


def test_a_model_trained_on_in_memory_is_scored_anew() -> None:
    module = transformers.AutoModelForMaskedLM.from_pretrained(BERT)
    model = tiltmeter.wrap_model(module, transformers.AutoTokenizer.from_pretrained(BERT), name="mine")
    before = tiltmeter.score(model, "starter-pairs", ["aul"])
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(1.5)
    after = tiltmeter.score(model, "starter-pairs", ["aul"])
    assert after.manifests[0]["batches_reused"] == 0
    assert abs(before.to_pandas()["score"].mean() - after.to_pandas()["score"].mean()) > 1
    assert before.manifests[0]["model"]["weights_sha256"] != after.manifests[0]["model"]["weights_sha256"]


def test_two_processes_at_the_same_work_do_not_count_twice(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both were killed; their parts overlap. Each token counts once all the same."""
    model, bench = golden_model("tiny-albert"), tiltmeter.load_benchmark("starter-pairs", limit=20)
    expected = tiltmeter.score(model, bench, ["pll", "aul"], cache=False).to_pandas()

    class KilledError(Exception):
        pass

    real = type(model).begin
    for batch_tokens, after in ((300, 6), (170, 9)):
        calls = 0

        def begin(batch: object, after: int = after) -> object:
            nonlocal calls
            calls += 1
            if calls > after:
                raise KilledError
            return real(model, batch)  # type: ignore[arg-type]

        saved = list(own_cache.rglob("parts/*.parquet"))
        for path in saved:
            path.rename(path.with_suffix(".hidden"))
        monkeypatch.setattr(model, "begin", begin, raising=False)
        with pytest.raises(KilledError):
            tiltmeter.score(model, bench, ["pll", "aul"], batch_tokens=batch_tokens)
        for path in saved:
            path.with_suffix(".hidden").rename(path)
    monkeypatch.undo()
    monkeypatch.setenv("TILTMETER_CACHE", str(own_cache))
    assert len(list(own_cache.rglob("parts/*.parquet"))) == 15
    found = tiltmeter.score(model, bench, ["pll", "aul"])
    assert found.manifests[0]["batches_reused"] == 15
    pd.testing.assert_frame_equal(found.to_pandas(), expected, atol=1e-3)


def test_batches_are_counted_for_the_views_they_were_for() -> None:
    model = golden_model("tiny-albert")
    tiltmeter.score(model, "starter-pairs", ["pll"])
    n = tiltmeter.score(model, "starter-pairs", ["aul"]).manifests[0]["batches_computed"]
    assert tiltmeter.score(model, "starter-pairs", ["aul"]).manifests[0]["batches_reused"] == n


@pytest.mark.parametrize(("precision", "views"), [("fp32", 1), ("bf16", 2)])
def test_aul_does_not_depend_on_aula_in_half_precision(precision: str, views: int) -> None:
    model = tiltmeter.load_model(BERT, precision=precision)
    both = tiltmeter.score(model, "starter-pairs", ["aul", "aula"], cache=False)
    assert len(both.manifests[0]["views"]) == views
    alone = tiltmeter.score(model, "starter-pairs", ["aul"], cache=False).to_pandas()
    together = both.to_pandas()
    together = together[together["scorer"] == "aul"].reset_index(drop=True)
    assert (alone["score"] - together["score"]).abs().max() < (1e-5 if precision == "fp32" else 1e-9)


def test_runs_of_different_data_are_not_mixed(tmp_path: Path) -> None:
    for n, word in enumerate(("boy", "girl")):
        folder = tmp_path / f"d{n}"
        folder.mkdir()
        rows = "".join(f"{k},The tall {word} won {k}.,The short {word} won {k}.\n" for k in range(3))
        (folder / "pairs.csv").write_text("id,stereo,anti\n" + rows, encoding="utf-8")
        run(BERT, folder / "pairs.csv", "aul", output=tmp_path / f"r{n}", **QUICK)
    with raises("ambiguous-name", kind="benchmark", name="pairs"):
        load_answers([tmp_path / "r0", tmp_path / "r1"])
    with raises("duplicate-name", kind="answers"):
        load_answers([tmp_path / "r0", tmp_path / "r0"])


def test_models_of_one_name_in_memory_are_told_apart() -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(BERT)
    answers = []
    for shift in (0.0, 0.5):
        module = transformers.AutoModelForMaskedLM.from_pretrained(BERT).eval()
        with torch.no_grad():
            module.get_output_embeddings().bias[:100] += shift
        answers.append(tiltmeter.score(tiltmeter.wrap_model(module, tokenizer, name="mine"), "starter-pairs", "aul"))
    alone = [tiltmeter.estimate(part, "kls", by="all", resamples=100)["value"].item() for part in answers]
    digest = answers[1].manifests[0]["model"]["model_sha256"]
    together = tiltmeter.estimate(answers, "kls", by="all", resamples=100)
    assert together["model"].tolist() == ["mine", f"mine-{digest[:8]}"] and together["value"].tolist() == pytest.approx(
        alone
    )
    assert tiltmeter.compare(answers, measures="kls", resamples=100)["baseline"].tolist() == ["mine"]
    with raises("duplicate-name", kind="answers"):
        tiltmeter.estimate([answers[0], answers[0]])


def test_a_loaded_model_gives_its_module_and_tokenizer() -> None:
    model = tiltmeter.load_model(BERT)
    again = tiltmeter.wrap_model(model.module, model.tokenizer, name="again")
    assert again.module is model.module and again.identity.weights


def test_repeated_ids_are_refused() -> None:
    pair = {"stereo": "A man left.", "anti": "A woman left."}
    with raises("duplicate-name", kind="id", name="1"):
        Benchmark("b", (Item("1", pair), Item("1", pair)))


def test_quotes_that_do_not_match_never_merge_rows(tmp_path: Path) -> None:
    file = tmp_path / "p.tsv"
    file.write_text('stereo\tanti\n"Men" drive well.\tWomen drive well.\nA b\tA c\n"No\tYes\nD e\tD f\n', encoding="utf-8")
    bench = tiltmeter.load_benchmark(file)
    assert [item.texts["stereo"] for item in bench.items] == ['"Men" drive well.', "A b", '"No', "D e"]
    file.write_text('stereo\tanti\n"Men" drive\tx\ty\nA b\tA c\n', encoding="utf-8")
    with pytest.raises(TiltmeterError, match="quotation marks"):
        tiltmeter.load_benchmark(file)


def test_import_with_score_columns_of_other_names(tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    file.write_text("key,sent_more,sent_less,up,down\nx,A b,A c,-1,-2\ny,D e,D f,-3,-2\n", encoding="utf-8")
    columns = {"stereo_score": "up", "anti_score": "down", "id": "key"}
    frame = tiltmeter.import_scores(file, columns=columns).to_pandas()
    assert frame["item"].tolist() == ["x", "x", "y", "y"] and frame["score"].tolist() == [-1, -2, -3, -2]


def test_what_cannot_be_computed_is_said_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiltmeter.LanguageModel, "begin", lambda *_: pytest.fail("a model was asked"))
    with raises("inapplicable-option", measure="ss", needs=["target"]):
        run(BERT, "starter-pairs", measures="ss", output=tmp_path / "r", **QUICK)
    with pytest.raises(TiltmeterError, match="cps needs a masked"):
        run(GPT, "starter-pairs", "cps", output=tmp_path / "r", **QUICK)
    with pytest.raises(TiltmeterError, match="cps needs a masked"):
        run([BERT, GPT], "starter-pairs", "cps", output=tmp_path / "r", **QUICK)
    assert not (tmp_path / "r").exists()


def test_scorers_of_two_kinds_find_their_models(tmp_path: Path) -> None:
    done = run([BERT, GPT], "starter-pairs", ["aul", "causal"], output=tmp_path / "r", **QUICK)
    found = done.answers["pairs"].to_pandas().groupby("model")["scorer"].unique().map(list).to_dict()
    assert found == {"tiny-bert-cased": ["aul"], "tiny-gpt2": ["causal"]}


def test_a_mapping_is_for_files_not_for_built_in_benchmarks(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("a,b\nThe man left.,The woman left.\n", encoding="utf-8")
    options = {"resamples": 100, "columns": {"stereo": "a", "anti": "b"}, "limit": 3}
    done = run(BERT, ["starter-pairs", tmp_path / "mine.csv"], "aul", output=tmp_path / "r", **options)
    assert done.answers["pairs"].to_pandas().groupby("benchmark")["item"].nunique().to_dict() == {
        "mine": 1,
        "starter-pairs": 3,
    }


def test_saved_scores_say_where_they_came_from(tmp_path: Path) -> None:
    scores = tiltmeter.score(BERT, "starter-pairs", ["aul"], cache=False)
    scores.save(tmp_path / "s")
    again = load_answers([tmp_path / "s"])["pairs"]
    assert again.manifests[0]["model"]["weights_sha256"] == scores.manifests[0]["model"]["weights_sha256"]
    pd.testing.assert_frame_equal(again.to_pandas(), scores.to_pandas())


def test_no_direction_is_read_out_of_kls(tmp_path: Path) -> None:
    from tiltmeter.reporting.narratives import stories_of

    done = run(BERT, "starter-pairs", "aul", ["kls", "jss"], output=tmp_path / "r", **QUICK)
    (story,) = stories_of(done.estimates)
    assert codes_of([story.verdict, *story.sentences]) == ["no-lean-computed", "no-direction"]
    assert "%" not in story.text and "stereotypes" not in story.text
    assert (story.tone, story.number, story.gauge, story.head) == ("plain", "", None, None)
