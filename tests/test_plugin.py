"""A package outside adds a family of its own, with its benchmark and its measure, through entry points alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from conftest import GOLDEN
from report_material import embedded

PLUGIN = Path(__file__).parent / "plugin"
MODELS = [str(GOLDEN / "models" / name) for name in ("tiny-bert-cased", "tiny-gpt2")]


def install(target: Path, package: Path = PLUGIN) -> Path:
    """As `pip install` would, without a network."""
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation",
         "--disable-pip-version-check", "--target", str(target), str(package)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return target


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("setuptools", reason="no setuptools here to build the package with")
    folder = tmp_path_factory.mktemp("plugin")
    source = folder / "source"
    source.mkdir()
    for path in PLUGIN.rglob("*"):  # building leaves files behind, which must not be in the tree
        if path.is_file() and "egg-info" not in str(path) and "__pycache__" not in str(path):
            place = source / path.relative_to(PLUGIN)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
    return install(folder / "site", source)


def with_package(site: Path) -> dict[str, str]:
    paths = filter(None, [str(site), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def tiltmeter(site: Path, *words: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
    environment = with_package(site) | {"TILTMETER_CACHE": str(site.parent / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "tiltmeter", *words], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode != 0) == fails, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def run(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The family of the package beside one of ours."""
    folder = tmp_path_factory.mktemp("run")
    models = [word for model in MODELS for word in ("-m", model)]
    tiltmeter(
        site, "run", *models, "-b", "greetings", "-b", "starter-pairs", "--limit", "6", "--resamples", "100",
        "-o", str(folder / "run"),
    )  # fmt: skip
    return folder / "run"


def test_it_is_listed_and_has_a_help_panel_of_its_own(site: Path) -> None:
    assert "lengths" in tiltmeter(site, "list", "families").stdout
    shown = tiltmeter(site, "run", "--help-all").stdout
    assert "Lengths of sentences" in shown and "--with-special" in shown


def test_run_stores_its_answers_and_estimates(run: Path) -> None:
    rows = pd.read_csv(run / "estimates.csv").query("family == 'lengths'")
    table = pd.read_parquet(run / "lengths.parquet")
    assert len(table) == 2 * 6
    for _, row in rows.iterrows():
        ours = table[table["model"] == row["model"]]
        ours = ours if row["by"] == "all" else ours[ours["group"] == row["group"]]
        assert row["value"] == pytest.approx(ours["tokens"].mean())
    assert set(rows["group"]) == {"all", "friends", "acquaintances"} and set(rows["measure"]) == {"mean_tokens"}
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["families"] == {"lengths": ["lengths"], "pairs": ["scores"]}


def test_estimate_and_compare_treat_it_like_ours(site: Path, run: Path) -> None:
    again = json.loads(tiltmeter(site, "estimate", str(run), "--resamples", "100", "--json").stdout)
    stored = json.loads((run / "estimates.json").read_text())
    assert again == stored
    compared = pd.DataFrame(json.loads(tiltmeter(site, "compare", str(run), "--measure", "mean_tokens", "--json").stdout))
    stored_values = pd.DataFrame(stored).query("measure == 'mean_tokens' and by == 'all'").set_index("model")["value"]
    overall = compared.query("by == 'all'").iloc[0]
    assert overall["difference"] == pytest.approx(stored_values["tiny-gpt2"] - stored_values["tiny-bert-cased"])
    assert overall["low"] <= overall["difference"] <= overall["high"]


def test_table_report_and_show_treat_it_like_ours(site: Path, run: Path) -> None:
    table = tiltmeter(site, "table", "estimates", str(run), "--measure", "mean_tokens").stdout
    assert "mean_tokens" in table and "friends" in table
    tiltmeter(site, "report", str(run))
    page = (run / "report.html").read_text(encoding="utf-8")
    assert 'id="lengths"' in page and "Lengths of sentences" in page
    told = embedded(page).query("family == 'lengths'")
    pd.testing.assert_series_equal(
        told["value"].reset_index(drop=True),
        pd.read_csv(run / "estimates.csv").query("family == 'lengths'")["value"].reset_index(drop=True),
    )
    code = (
        "import sys, tiltmeter; run = tiltmeter.load_run(sys.argv[1]); answers = run.answers['lengths'];"
        "print(run._repr_html_(), answers._repr_html_()); tiltmeter.show(answers, by='group').savefig(sys.argv[2])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(run), str(run / "shown.png")], env=with_package(site), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert "tokens on average" in done.stdout and (run / "shown.png").stat().st_size > 1000


def test_without_the_package_its_run_is_refused_with_a_reason(run: Path, tmp_path: Path) -> None:
    done = tiltmeter(tmp_path, "estimate", str(run), fails=True)
    assert done.returncode == 2 and "'lengths'" in done.stderr


def broken(tmp_path: Path, text: str, name: str = "broken") -> Path:
    """A package that adds a family, written by hand as an installer would leave it."""
    facts = tmp_path / f"tiltmeter_{name}-1.0.dist-info"
    facts.mkdir(parents=True)
    (tmp_path / f"tiltmeter_{name}.py").write_text(text, encoding="utf-8")
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tiltmeter-{name}\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[tiltmeter.families]\n{name} = tiltmeter_{name}\n")
    return tmp_path


IMPORT = "from tiltmeter.families import Family\n"
LACKING = f"""{IMPORT}
class Some(Family):
    TITLE = 'A title'
    check = ask = estimate = compare = narratives = sheets = None
"""
FAULTS = {
    "unlucky": ("raise RuntimeError('no luck')", "cannot be loaded: RuntimeError: no luck"),
    "earlier": ("TITLE = 'A title'\ndef ask(model, benchmark, options, how): ...", "has no FAMILY"),
    "imports": ("from tiltmeter.families import How", "another version of tiltmeter; CHANGELOG.md"),
    "moved": ("from tiltmeter.families.kit.seam import Known", "another version of tiltmeter; CHANGELOG.md"),
    "other": ("FAMILY = 'A title'", "not an instance of tiltmeter.families.Family"),
    "abstract": (f"{IMPORT}class Some(Family): TITLE = 'A title'\nFAMILY = Some()", "abstract methods ask, check"),
    "lacking": (f"{LACKING}FAMILY = Some()", "lacks UNIT, KEY, READS"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_broken_family_is_named(tmp_path: Path, name: str) -> None:
    text, reason = FAULTS[name]
    listed = tiltmeter(broken(tmp_path / "site", text, name), "list", "families")
    assert f"tiltmeter-{name}" in listed.stderr and reason in " ".join(listed.stderr.split())
    assert "pairs" in listed.stdout and name not in listed.stdout.split()  # the others are listed, and it is not


def test_broken_families_break_nothing_else(tmp_path: Path) -> None:
    for name, (text, _) in FAULTS.items():
        site = broken(tmp_path / "site", text, name)
    done = tiltmeter(site, "run", "-m", MODELS[0], "-b", "starter-pairs", "--limit", "3", "-s", "aul", "--resamples", "100",
                     "-o", str(tmp_path / "run"), "--no-report")  # fmt: skip
    assert all(f"tiltmeter-{name}" in done.stderr for name in FAULTS) and (tmp_path / "run" / "estimates.csv").is_file()


def test_a_family_that_takes_our_name_is_refused_and_named(tmp_path: Path) -> None:
    site = broken(tmp_path / "site", "TITLE = 'Ours?'", "slots")
    done = tiltmeter(site, "run", "-m", MODELS[0], "-b", "plumb-slots", "-o", str(tmp_path / "run"), fails=True)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "'slots'" in said and "tiltmeter-slots" in said
