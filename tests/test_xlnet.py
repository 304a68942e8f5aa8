"""XLNet: one position hidden by its permutation mask, all others seen, against code that asks one position at a time."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, XLNetLMHeadModel

import tiltmeter
from association_material import associate, text, words_file
from conftest import GOLDEN
from support.raising import raises
from test_cli import tiltmeter as command
from tiltmeter.runs import load_run
from xlnet_material import tiny_xlnet

SEAT = GOLDEN / "data" / "own-seat-mini.jsonl"


@cache
def parts() -> tuple[Any, Any]:
    model = XLNetLMHeadModel.from_pretrained(tiny_xlnet(), dtype=torch.float32).eval()
    return model, AutoTokenizer.from_pretrained(tiny_xlnet())


@cache
def naive(sentence: str, hidden: tuple[int, ...], at: int) -> float:
    """log P of the token at a position, those at `hidden` hidden from all: one pass for one position, no mask token."""
    model, tokenizer = parts()
    given = tokenizer(sentence, return_tensors="pt", return_token_type_ids=True)
    n = given["input_ids"].shape[1]
    perm_mask, target_mapping = torch.zeros(1, n, n), torch.zeros(1, 1, n)
    perm_mask[0, :, list(hidden)] = 1.0
    target_mapping[0, 0, at] = 1.0
    with torch.no_grad():
        logits = model(
            input_ids=given["input_ids"], token_type_ids=given["token_type_ids"], perm_mask=perm_mask,
            target_mapping=target_mapping, use_mems=False,
        ).logits[0, 0]  # fmt: skip
    return float(logits.log_softmax(-1)[given["input_ids"][0, at]])


def content(sentence: str) -> list[int]:
    return list(range(len(parts()[1](sentence, add_special_tokens=False)["input_ids"])))


@cache
def run_of_tiny() -> Any:
    """`tiltmeter run -m TINY_XLNET -b pairs -b seat`, by the command line."""
    folder = tiny_xlnet().parent
    place = (
        "-b",
        GOLDEN / "data" / "pairs.jsonl",
        "-b",
        SEAT,
        "-o",
        folder / "run",
        "--resamples",
        100,
        "--no-cache",
        "-s",
        "all",
    )
    assert command("run", "-m", tiny_xlnet(), *place) == 0
    return load_run(folder / "run")


def shared(first: list[int], second: list[int]) -> tuple[list[int], list[int]]:
    from difflib import SequenceMatcher

    blocks = SequenceMatcher(None, first, second).get_opcodes()
    equal = [code for code in blocks if code[0] == "equal"]
    return [n for code in equal for n in range(code[1], code[2])], [n for code in equal for n in range(code[3], code[4])]


def compare(scores: Any, pairs: list[tuple[str, str, str]]) -> int:
    """Asserts that scores of these (id, stereotypical, other) are those of one pass per position; how many there were."""
    compared = 0
    for item, *sentences in pairs:
        ids = [parts()[1](sentence)["input_ids"] for sentence in sentences]
        for role, sentence, common in zip(("stereo", "anti"), sentences, shared(*ids), strict=True):
            places = content(sentence)
            alone = {at: naive(sentence, (at,), at) for at in places}
            kept = [at for at in common if at in places]
            changed = tuple(at for at in places if at not in kept)
            wanted = {
                "pll": sum(alone.values()),
                "cps": sum(alone[at] for at in kept),
                "aul": np.mean([naive(sentence, (), at) for at in places]),
                "all_masked": np.mean([naive(sentence, tuple(places), at) for at in places]),
            } | ({"sss": np.mean([naive(sentence, changed, at) for at in changed])} if changed else {})
            for scorer, value in wanted.items():
                assert scores[item, role, scorer] == pytest.approx(value, abs=1e-4), (item, role, scorer)
                compared += 1
    return compared


def scores_of(run: Any) -> Any:
    return run.answers["pairs"].table.set_index(["item", "role", "scorer"])["score"]


def test_scores_equal_the_naive_loop() -> None:
    """pll, cps, sss, all_masked and aul of ten sentences, each position in a pass of its own."""
    rows = [json.loads(line) for line in (GOLDEN / "data" / "pairs.jsonl").read_text().splitlines()][:5]
    assert compare(scores_of(run_of_tiny()), [(row["id"], row["sent_more"], row["sent_less"]) for row in rows]) > 40


@pytest.mark.realdata
@pytest.mark.slow
def test_scores_of_real_pairs_equal_the_naive_loop(realdata: Path, tmp_path: Path) -> None:
    """`tiltmeter run -m TINY_XLNET -b crows-pairs -b seat`, on the first pairs and one test."""
    more = ("--data-dir", realdata, "--resamples", 100, "--no-cache")
    assert command("run", "-m", tiny_xlnet(), "-b", "crows-pairs", "--limit", 8, *more, "-o", tmp_path / "pairs") == 0
    assert command("run", "-m", tiny_xlnet(), "-b", "seat", "--test", "sent-weat6", *more, "-o", tmp_path / "seat") == 0
    items = tiltmeter.load_benchmark("crows-pairs", data_dir=realdata, limit=8).asked_items
    pairs = [(item.id, item.texts["stereo"], item.texts["anti"]) for item in items]
    assert compare(scores_of(load_run(tmp_path / "pairs")), pairs) > 70
    test = json.loads((realdata / "seat" / "sent-weat6.jsonl").read_text())
    found = load_run(tmp_path / "seat").estimates.query("measure == 'effect_size'")["value"].tolist()
    assert found == [pytest.approx(naive_effect(test), abs=1e-4)]


def naive_effect(document: Any) -> float:
    """d of a test of SEAT, every sentence in a pass of its own."""
    model, tokenizer = parts()

    def vectors(part: str) -> np.ndarray:
        rows = []
        for sentence in dict.fromkeys(document[part]["examples"]):
            given = tokenizer(sentence, return_tensors="pt", return_token_type_ids=True)
            with torch.no_grad():
                states = model.transformer(
                    input_ids=given["input_ids"], token_type_ids=given["token_type_ids"], use_mems=False
                ).last_hidden_state
            rows.append(states[0].mean(0).numpy())
        found = np.stack(rows).astype(np.float64)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    x, y, a, b = (vectors(part) for part in ("targ1", "targ2", "attr1", "attr2"))
    s_x, s_y = ((side @ a.T).mean(1) - (side @ b.T).mean(1) for side in (x, y))
    return float((s_x.mean() - s_y.mean()) / np.concatenate([s_x, s_y]).std(ddof=1))


def test_seat_equals_vectors_made_one_at_a_time() -> None:
    table = run_of_tiny().estimates
    wanted = pytest.approx(naive_effect(json.loads(SEAT.read_text())), abs=1e-4)
    assert table[table["measure"] == "effect_size"]["value"].tolist() == [wanted]


def test_the_manifest_says_how_it_was_asked() -> None:
    (pairs, _) = run_of_tiny().manifest["evaluations"]
    assert pairs["model"]["kind"] == "masked" and "hidden from all others" in pairs["model"]["masking"]
    assert "aula" not in pairs["scorers"] and {"pll", "cps", "aul", "sss"} <= set(pairs["scorers"])


def test_slots_templates_and_contexts_can_be_asked(tmp_path: Path) -> None:
    model = tiltmeter.load_model(tiny_xlnet())
    filled = tiltmeter.ask(model, GOLDEN / "data" / "slots.jsonl", cache=False).table
    assert (filled["rank"] > 0).any()
    increases = tiltmeter.ask(model, "ilps", cache=False, options=tiltmeter.AssociationsOptions(tests=["gender"])).table
    assert increases["value"].notna().any()
    (tmp_path / "c.txt").write_text(text(60))
    bench = tiltmeter.load_benchmark("ceat", words=words_file(tmp_path))
    done = associate(model, bench, corpus=[tmp_path / "c.txt"], draws=50, cache=False)
    assert done.estimates["value"].notna().all()


def test_what_is_not_defined_is_refused_with_what_to_use(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with raises("wrong-model-kind", kind="causal", architecture="xlnet"):
        tiltmeter.load_model(tiny_xlnet(), kind="causal")
    assert command("run", "-m", tiny_xlnet(), "-b", "starter-pairs", "-s", "causal", "-o", tmp_path / "r") == 2
    assert "pll" in " ".join(capsys.readouterr().err.split())
    with raises("missing-capability", scorer="aula"):
        tiltmeter.score(tiltmeter.load_model(tiny_xlnet()), "starter-pairs", ["aula"])
