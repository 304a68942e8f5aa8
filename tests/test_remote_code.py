"""A model folder may bring Python of its own. It runs where the user said so, and nowhere else; nobody is asked."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import GOLDEN
from support.raising import raises
from tiltmeter import TiltmeterError
from tiltmeter.finetune import Recipe, load_trainable
from tiltmeter.judges.kit.training import train_judge
from tiltmeter.models import check_model, kind_of, load_any, load_encoder, load_model
from tiltmeter.models.pretrained import load_tokenizer

transformers = pytest.importorskip("transformers")

SOURCE = Path(__file__).parents[1] / "src" / "tiltmeter"
PAYLOAD = "from pathlib import Path\nPath({mark!r}).write_text('this code ran')\n"
CONFIGURATION = "from transformers import BertConfig\nclass OwnConfig(BertConfig):\n    model_type = 'own'\n"
MODELLING = """
from transformers import BertForMaskedLM, BertModel
from .configuration_own import OwnConfig
class OwnForMaskedLM(BertForMaskedLM):
    config_class = OwnConfig
class OwnModel(BertModel):
    config_class = OwnConfig
"""
TOKENIZING = "from transformers import BertTokenizer\nclass OwnTokenizer(BertTokenizer):\n    pass\n"
AUTO_MAP = {
    "AutoConfig": "configuration_own.OwnConfig",
    "AutoModel": "modeling_own.OwnModel",
    "AutoModelForMaskedLM": "modeling_own.OwnForMaskedLM",
}


@pytest.fixture(autouse=True)
def willing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who says yes to whatever a terminal asks, and a cache for code that is this test's own."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n" * 50))
    monkeypatch.setattr(transformers.dynamic_module_utils, "TIME_OUT_REMOTE_CODE", 15)
    monkeypatch.setattr(transformers.dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    for name in [name for name in sys.modules if name.startswith("transformers_modules")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """What the code would write."""
    return tmp_path / "ran"


def edit_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.fixture
def own(tmp_path: Path, mark: Path) -> Path:
    """A BERT whose configuration and model are code in its folder."""
    folder = Path(shutil.copytree(GOLDEN / "models" / "tiny-bert-cased", tmp_path / "own"))
    payload = PAYLOAD.format(mark=str(mark))
    (folder / "configuration_own.py").write_text(payload + CONFIGURATION)
    (folder / "modeling_own.py").write_text(payload + MODELLING)
    edit_json(folder / "config.json", model_type="own", architectures=["OwnForMaskedLM"], auto_map=AUTO_MAP)
    return folder


@pytest.fixture
def own_sentences(own: Path, tmp_path: Path) -> Path:
    """The same, as sentence-transformers would keep it."""
    folder = tmp_path / "sentences"
    folder.mkdir()
    own.rename(folder / "body")
    (folder / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models.Transformer", "path": "body"}]))
    return folder


Entry = Callable[..., Any]


def tokenizer_of(folder: Path, **options: Any) -> Any:
    return load_tokenizer(str(folder), folder, **({"trust_remote_code": False} | options))


ENTRIES: dict[str, Entry] = {
    "check_model": check_model,
    "kind_of": kind_of,
    "load_model": load_model,
    "load_encoder": load_encoder,
    "load_any": load_any,
    "tokenizer": tokenizer_of,
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_code_in_a_folder_does_not_run_unasked(
    entry: str, own: Path, mark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        ENTRIES[entry](own)
        refused = ""
    except TiltmeterError as error:
        refused = str(error)
    assert not mark.exists()
    assert sys.stdin.tell() == 0  # nothing was asked
    assert "custom code" not in "".join(capsys.readouterr())
    if entry != "tokenizer":  # its own files are ordinary ones
        assert "--trust-remote-code" in refused and len(refused.splitlines()) == 1


@pytest.mark.parametrize("entry", ENTRIES)
def test_it_runs_with_the_flag(entry: str, own: Path, mark: Path) -> None:
    made = ENTRIES[entry](own, trust_remote_code=True)
    assert sys.stdin.tell() == 0
    assert mark.exists()
    if entry in ("check_model", "kind_of"):
        assert made == "masked"
    elif entry != "tokenizer":
        assert made.tokens.encode(["He ran."])[0].ids


@pytest.mark.parametrize("load", [load_encoder, load_any])
def test_a_sentence_transformers_folder(load: Entry, own_sentences: Path, mark: Path) -> None:
    assert kind_of(own_sentences) == "encoder"
    with pytest.raises(TiltmeterError, match="--trust-remote-code"):
        load(own_sentences)
    assert not mark.exists() and sys.stdin.tell() == 0
    assert load(own_sentences, trust_remote_code=True).kind == "encoder"
    assert mark.exists()


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_tokenizer_with_code(entry: str, tmp_path: Path, mark: Path) -> None:
    folder = Path(shutil.copytree(GOLDEN / "models" / "tiny-bert-cased", tmp_path / "words"))
    (folder / "tokenization_own.py").write_text(PAYLOAD.format(mark=str(mark)) + TOKENIZING)
    auto_map = {"AutoTokenizer": ["tokenization_own.OwnTokenizer", "tokenization_own.OwnTokenizer"]}
    edit_json(folder / "tokenizer_config.json", tokenizer_class="OwnTokenizer", auto_map=auto_map)
    try:
        ENTRIES[entry](folder)
    except TiltmeterError as error:
        assert "--trust-remote-code" in str(error)
    assert not mark.exists() and sys.stdin.tell() == 0
    ENTRIES[entry](folder, trust_remote_code=True)
    assert mark.exists() == (entry not in ("check_model", "kind_of"))


def test_kernels_of_the_hub_are_code_too(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(GOLDEN / "models" / "tiny-bert-cased", tmp_path / "kernels"))
    edit_json(folder / "config.json", attn_implementation="somebody/their-attention")
    for entry in (check_model, load_model):
        with raises("untrusted-code", attention="somebody/their-attention"):
            entry(folder)


def labelled_file(path: Path) -> Path:
    rows = [f"a {word} day {n},{label}" for n in range(20) for word, label in (("kind", "normal"), ("stupid", "toxic"))]
    path.write_text("text,label\n" + "\n".join(rows) + "\n")
    return path


def test_a_model_that_is_to_be_trained(own: Path, mark: Path) -> None:
    with raises("untrusted-code"):
        load_trainable(own, Recipe(), method="CDA", device="cpu")
    with pytest.raises(TiltmeterError, match="--trust-remote-code"):
        train_judge("toxicity", str(own), own.with_name("judge"), data=labelled_file(own.with_name("labelled.csv")))
    assert not mark.exists() and sys.stdin.tell() == 0


def test_one_place_asks_transformers() -> None:
    """Whoever calls from_pretrained elsewhere decides about other people's code elsewhere."""
    calling = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if ".from_pretrained(" in path.read_text("utf-8")]
    assert calling == [Path("models/pretrained.py")]
