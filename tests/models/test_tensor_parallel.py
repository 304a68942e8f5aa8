"""Tensor parallel models: two processes that hold half of each layer give the scores of one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import transformers

from conftest import GOLDEN

SCRIPT = """
import sys

import numpy as np
import torch
import torch.distributed as distributed
import transformers

import tiltmeter

folder, tokens = sys.argv[1:]
distributed.init_process_group("gloo")
tokenizer = transformers.AutoTokenizer.from_pretrained(tokens)
module = transformers.AutoModelForCausalLM.from_pretrained(folder, tp_plan="auto", dtype=torch.float32).eval()
whole = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
assert type(module.model.layers[0].self_attn.q_proj.weight).__name__ == "DTensor"
bench = tiltmeter.load_benchmark("starter-pairs")
scores = [
    np.array(tiltmeter.score(tiltmeter.wrap_model(one, tokenizer, name="m"), bench, ["causal"], cache=False).table["score"])
    for one in (module, whole)
]
print("largest difference", np.abs(scores[0] - scores[1]).max())
assert np.abs(scores[0] - scores[1]).max() < 1e-3
distributed.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_give_the_scores_of_one(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")  # transformers places layers by it
    tokens = GOLDEN / "models" / "tiny-gpt2"
    config = transformers.LlamaConfig(
        vocab_size=len(transformers.AutoTokenizer.from_pretrained(tokens)), hidden_size=64, intermediate_size=128,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "llama")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    words = [*command, str(tmp_path / "script.py"), str(tmp_path / "llama"), str(tokens)]
    done = subprocess.run(words, check=False, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("largest difference") == 2
