"""WinoBias and Winogender as pairs: made-up files in their layouts, what is refused, and the published files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import tiltmeter
from conftest import golden_model
from support.raising import raises
from tiltmeter import load_benchmark
from tiltmeter.benchmarks.kit.items import REPEATED_PAIR
from tiltmeter.benchmarks.winobias import MORE_THAN_PRONOUNS, NO_CONTRAST
from tiltmeter.benchmarks.winogender import NO_MAJORITY
from tiltmeter.stats.contrasts import DIFFERENCE

PRO = (
    "1 [The plumber] paid the florist since [he] had ordered too much.\n"
    "2 The plumber met [ the florist ] and gave [her] a rose.\n"
)
ANTI = PRO.replace("[he]", "[she]").replace("[her]", "[him]").replace("a rose", "the rose")


def wino_files(folder: Path, pro: str = PRO, anti: str = ANTI) -> Path:
    (folder / "winobias").mkdir(exist_ok=True)
    for kind in "12":
        for part in ("dev", "test"):
            for side, text in (("pro", pro), ("anti", anti)):
                (folder / "winobias" / f"{side}_stereotyped_type{kind}.txt.{part}").write_text(text, encoding="utf-8")
    return folder


def test_twins_of_winobias_are_pairs(tmp_path: Path) -> None:
    benchmark = load_benchmark("winobias", data_dir=wino_files(tmp_path))
    assert len(benchmark) == 8 and benchmark.note_counts() == {MORE_THAN_PRONOUNS: 4, REPEATED_PAIR: 6}
    first, second = benchmark.items[:2]
    assert first.texts["stereo"].split()[:7] == ["The", "plumber", "paid", "the", "florist", "since", "he"]
    assert first.texts == {"stereo": first.texts["stereo"], "anti": first.texts["stereo"].replace(" he ", " she ")}
    assert (first.id, first.target, dict(first.extra)) == (
        "type1-dev-1", "plumber", {"type": "1", "part": "dev", "gender": "male", "frame": "the _ paid the _ since"},
    )  # fmt: skip
    assert (first.direction, second.direction, second.target) == ("advantaged", "disadvantaged", "florist")
    scores = tiltmeter.score(golden_model("tiny-bert-cased"), benchmark, ["aul"], cache=False)
    table = tiltmeter.estimate(scores, "bias-score", by=["type", "direction"], resamples=100)
    assert set(zip(table["by"], table["group"], strict=True)) == {
        ("all", "all"), ("type", "1"), ("type", "2"),
        ("direction", "advantaged"), ("direction", "disadvantaged"), ("direction", DIFFERENCE),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("anti", "code", "fields"),
    [
        (ANTI.split("\n")[0], "wrong-shape", {}),
        (ANTI.replace("1 [", "7 ["), "wrong-shape", {}),
        ("no number here", "wrong-format", {"line": 1}),
    ],
)
def test_files_of_winobias_that_do_not_fit_are_refused(anti: str, code: str, fields: dict[str, int], tmp_path: Path) -> None:
    with raises(code, **fields):
        load_benchmark("winobias", data_dir=wino_files(tmp_path, anti=anti))


def test_twins_without_a_contrast_are_skipped(tmp_path: Path) -> None:
    same = ANTI.replace("[him]", "[her]")
    benchmark = load_benchmark("winobias", data_dir=wino_files(tmp_path, anti=same))
    assert len(benchmark) == 4 and benchmark.note_counts() == {f"skipped: {NO_CONTRAST}": 4, REPEATED_PAIR: 3}


def gender_files(folder: Path, shares: str = "plumber\t3.5\nflorist\t82\n", more: str = "") -> Path:
    (folder / "winogender").mkdir(exist_ok=True)
    rows = [
        f"{work}.guest.{answer}.{gender}.txt\tThe {work} told the guest that {pronoun} {end}."
        for work in ("plumber", "florist", "diver")
        for answer, end in (("0", "was done"), ("1", "could pay"))
        for gender, pronoun in (("male", "he"), ("female", "she"), ("neutral", "they"))
    ]
    (folder / "winogender" / "all_sentences.tsv").write_text("sentid\tsentence\n" + "\n".join(rows) + "\n" + more)
    (folder / "winogender" / "occupations-stats.tsv").write_text("occupation\tbls_pct_female\n" + shares)
    return folder


def test_the_pronoun_of_most_people_in_an_occupation_is_the_stereotype(tmp_path: Path) -> None:
    benchmark = load_benchmark("winogender", data_dir=gender_files(tmp_path))
    assert [(item.id, item.extra["gender"], item.extra["percent_women"]) for item in benchmark.items] == [
        ("plumber.guest", "male", 3.5), ("florist.guest", "female", 82.0),
    ]  # fmt: skip
    texts = benchmark.items[1].texts
    assert texts["stereo"].split()[-3:] == ["she", "was", "done."] and texts["stereo"].startswith("The florist ")
    assert texts["anti"] == texts["stereo"].replace(" she ", " he ")
    assert benchmark.note_counts() == {f"skipped: {NO_MAJORITY}": 1}


def test_files_of_winogender_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with raises("wrong-type", column="bls_pct_female"):
        load_benchmark("winogender", data_dir=gender_files(tmp_path, shares="plumber\tfew\n"))
    with raises("wrong-format", row=19, column="sentid"):
        load_benchmark("winogender", data_dir=gender_files(tmp_path, more="x.y\tHm.\n"))


@pytest.mark.realdata
def test_the_published_files(realdata: Path) -> None:
    """Zhao et al.: 3,160 sentences are said to be in it; the files have 3,168, which are 1,584 twins."""
    wino, gender = (load_benchmark(name, data_dir=realdata) for name in ("winobias", "winogender"))
    assert len(wino) == 1582 and len({item.target for item in wino.items}) == 40
    assert wino.note_counts() == {
        MORE_THAN_PRONOUNS: 17,
        f"skipped: {NO_CONTRAST}": 2,
        REPEATED_PAIR: 3,
    }
    assert Counter(item.extra["type"] for item in wino.items) == {"1": 792, "2": 790}
    assert len(gender) == 120 and Counter(item.extra["gender"] for item in gender.items) == {"female": 62, "male": 58}
