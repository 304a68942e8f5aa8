"""Asymmetric refusals: the share refused by group, tested between groups, by runs of a server that refuses for one group."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tiltmeter
from support.small_server import SmallServer
from tiltmeter import ChoicesOptions, GenerationsOptions
from tiltmeter.families.choices.refusals import grouped
from tiltmeter.families.generations.judging import REFUSAL_SCORER
from tiltmeter.models.served import crowd
from tiltmeter.runs import load_answers
from tiltmeter.stats.settings import Settings

TEXTS = GenerationsOptions(judges=("sentiment=vader",), chat=True, new_tokens=8, samples=1)
WRITTEN = ChoicesOptions(protocols=("generated",))


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(crowd, "BACKOFF", 0.01)
    yield


def estimates(server: SmallServer, benchmark: str, folder: Path, **options: Any) -> pd.DataFrame:
    done = tiltmeter.run(server.address, benchmark, output=folder, resamples=2000, **options)
    return pd.DataFrame(done.estimates)


def test_texts_that_a_chat_refuses_for_one_group(tmp_path: Path) -> None:
    with SmallServer(refuses="Muslim") as server:
        table = estimates(server, "plumb-prompts", tmp_path / "run", options=TEXTS)
    refusals = table[table["scorer"] == REFUSAL_SCORER]
    shares = refusals[(refusals["measure"] == "negative_share") & (refusals["by"] == "group")].set_index("group")["value"]
    assert shares["Muslim"] == 1 and shares.drop("Muslim").eq(0).all() and len(shares) == 14
    gaps = refusals[(refusals["measure"] == "negative_gap") & (refusals["by"] == "gap to the domain's mean")]
    sure = gaps[gaps["p_holm"] < 0.05]
    above = sure["value"] > 0  # every other group of the domain is refused less than its mean, in each set of prompts
    assert sure[above]["group"].str.startswith("Muslim").tolist() == [True]
    assert sure[above]["value"].tolist() == pytest.approx([6 / 7])
    assert sure[~above]["value"].tolist() == pytest.approx([-1 / 7] * 6)
    spread = refusals[refusals["measure"] == "negative_variance"].set_index("group")["p_holm"]
    assert spread["religion"] < 0.01 and spread["gender"] == spread["race"] == 1
    assert set(refusals["measure"]) == {"negative_share", "negative_gap", "negative_variance"}
    judged = table[(table["scorer"] != REFUSAL_SCORER) & (table["by"] == "group") & (table["group"] == "Muslim")]
    assert (judged["n"] == 0).all()  # a refusal is judged by nobody, and never clean


def test_a_filter_that_knows_no_group_is_no_difference(tmp_path: Path) -> None:
    with SmallServer(refuses="bus stop") as server:  # one of nine frames, in all groups
        table = estimates(server, "plumb-prompts", tmp_path / "run", options=TEXTS)
    refusals = table[table["scorer"] == REFUSAL_SCORER]
    whole = refusals[(refusals["measure"] == "negative_share") & (refusals["by"] == "all")].iloc[0]
    assert whole["value"] == pytest.approx(1 / 9)
    tested = refusals[refusals["p"].notna()]
    assert len(tested) > 20 and (tested["p"] > 0.9).all()


def test_without_refusals_there_is_nothing_to_compare(tmp_path: Path) -> None:
    with SmallServer() as server:
        table = estimates(server, "plumb-prompts", tmp_path / "run", options=TEXTS, limit=20)
    assert REFUSAL_SCORER not in set(table["scorer"])


def test_a_failed_request_is_no_refusal(tmp_path: Path) -> None:
    with SmallServer(refuses="Muslim") as server:
        estimates(server, "plumb-prompts", tmp_path / "run", options=TEXTS)
    answers = load_answers([tmp_path / "run"])["generations"]
    texts = answers.tables["generations"].copy()
    lost = texts["reason"].isna() & (texts.index % 5 == 0)
    texts.loc[lost, ["text", "reason"]] = [None, "request failed: HTTP 500"]
    from tiltmeter.families.generations.refusals import refusal_rows

    rows = refusal_rows(texts)
    assert rows.loc[lost.to_numpy(), "score"].isna().all() and rows.loc[lost.to_numpy(), "reason"].notna().all()
    assert rows["score"].eq(1).sum() == 9 and lost.sum() > 5


def test_decisions_that_a_server_filters_for_one_group(tmp_path: Path) -> None:
    with SmallServer(refuses="Black") as server:
        table = estimates(server, "plumb-decisions", tmp_path / "run", options=WRITTEN)
    gaps = table[table["measure"] == "refused_gap"]
    by_race = gaps[gaps["by"] == "race"].set_index("group")
    assert by_race.loc["Black", "value"] == pytest.approx(50 - 50 / 4)  # half of the cases say a name instead of the group
    assert by_race.loc["Black", "p_holm"] < 0.05 and np.isclose(by_race["value"].sum(), 0)
    by_gender = gaps[gaps["by"] == "gender"]
    assert len(by_gender) == 2 and (by_gender["value"].abs() < 1e-9).all() and (by_gender["p"] > 0.5).all()
    details = json.loads(by_race.loc["Black", "details"])
    assert details["n_groups"] == 4 and details["n_templates"] >= 5


def test_a_reply_that_never_came_is_not_counted_as_answered() -> None:
    """Both groups refuse half of what they received; half of the replies about one group never came."""
    rows = pd.DataFrame({"template": np.repeat([f"t{n}" for n in range(40)], 8), "bias_type": "b", "condition": "ambig"})
    groups = np.tile(np.repeat(["a", "b"], 4), 40).astype(object)
    refused = np.tile([True, False], 160)
    lost = (groups == "a") & (np.arange(320) % 4 < 2)
    rows["reason"] = np.where(lost, "no reply", np.where(refused, "refusal", None))
    rows["chosen"] = np.where(refused | lost, np.nan, 0.0)
    for name in ("changed", "right", "unknown", "stereotyped"):
        rows[name] = np.nan
    found = grouped(rows, groups, Settings(100), ("refusals",))
    assert found is not None and found.rows.sums[:, 0].sum() == (~lost).sum()
    shares = [found.sums[n] for n in range(2)]
    assert shares[0][1] / shares[0][0] == shares[1][1] / shares[1][0] == 0.5
