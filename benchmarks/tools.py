"""The tools compared: which script runs each, in which environment, with which batch sizes to choose from."""

import json
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Tool:
    name: str
    script: str
    requirements: str | None = None
    batch_sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Setting:
    """What all runs of one comparison have in common."""

    model: Path
    pairs: Path
    work: Path
    threads: int


# minicons' batches are of sentences, each sent with all its masked copies; fairlms' are of masked copies.
TOOLS = (
    Tool("one_at_a_time", "one_at_a_time.py"),
    Tool("minicons", "with_minicons.py", "requirements-minicons.txt", (1, 2, 4, 8, 16)),
    Tool("fairlms", "with_fairlms.py", "requirements-fairlms.txt", (8, 16, 32, 64)),
    Tool("tiltmeter", "with_tiltmeter.py"),
)


def interpreter(tool: Tool, work: Path) -> Path:
    """This interpreter, or that of the tool's own environment, made anew when its requirements change."""
    if tool.requirements is None:
        return Path(sys.executable)
    wanted = (HERE / tool.requirements).read_text(encoding="utf-8")
    folder = work / f"venv-{tool.name}"
    stamp = folder / "installed.txt"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        venv.create(folder, with_pip=True, clear=True)
        command = [python, "-m", "pip", "install", "--quiet", "-r", HERE / tool.requirements]
        subprocess.run([str(part) for part in command], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return python


def run(tool: Tool, setting: Setting, limit: int, batch_size: int | None = None) -> dict[str, Any]:
    out = setting.work / f"{tool.name}.json"
    out.unlink(missing_ok=True)
    options: dict[str, Any] = {"model": setting.model, "pairs": setting.pairs, "limit": limit, "out": out}
    options |= {"threads": setting.threads}
    options |= {"batch-size": batch_size} if batch_size else {}
    command = [str(interpreter(tool, setting.work)), str(HERE / "runners" / tool.script)]
    command += [f"--{name}={value}" for name, value in options.items()]
    # Offline, so that no library looks for a newer file while the clock runs.
    environment = {**os.environ, "OMP_NUM_THREADS": str(setting.threads), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{tool.name} failed:\n{done.stderr[-2000:]}")
    record: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return record


def batch_size_times(tool: Tool, setting: Setting, limit: int, tries: int = 2) -> dict[int, float]:
    """The shortest time of each batch size; all are tried in turn, several times, because of the noise."""
    times: dict[int, float] = {}
    for _ in range(tries):
        for size in tool.batch_sizes:
            seconds = run(tool, setting, limit, size)["seconds"]
            times[size] = min(seconds, times.get(size, seconds))
    return times
