"""docs/first-loop.md is run as it stands, command by command, and prints what it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "first-loop.md"
BLOCK = re.compile(r"<!-- tested: tutorial -->\n```console\n(.*?)```", re.DOTALL)


def steps():
    """(command, lines that it prints at least, in this order)."""
    found = []
    for block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def test_tutorial_runs_as_it_stands(tmp_path):
    """A newcomer who types every command of the tutorial sees every line that it shows."""
    own = os.path.dirname(sys.executable)
    env = {
        "HOME": str(tmp_path / "home"),
        "PATH": f"{own}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
    }
    os.mkdir(env["HOME"])
    script = "set -e\n"
    for number, (command, _) in enumerate(steps()):
        script += f"{{ {command}\n}} > {tmp_path}/out-{number} 2>&1\n"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, timeout=300, check=False)
    shown = [
        path.read_text(encoding="utf-8") if (path := tmp_path / f"out-{number}").exists() else "not reached"
        for number in range(len(steps()))
    ]
    assert done.returncode == 0, "\n".join(shown)
    assert len(shown) >= 8
    for (command, lines), printed in zip(steps(), shown, strict=True):
        text, at = plainly(printed), 0
        for line in lines:
            at = text.find(plainly(line), at)
            assert at >= 0, f"{command}\nnever printed: {line}\nbut:\n{text}"


def plainly(text):
    """Without what differs from machine to machine: ids, seconds, and whether control groups can be made."""
    return re.sub(
        r"\b(?=\w*\d)[0-9a-f]{7,}\b|\b\d+(?::\d\d|\.\ds)\b|\bS[23]\b", "#", re.sub(r"[ \t]+", " ", text)
    )
