"""Golden files: what Ralph says today, word for word, so that a move of its code is seen not to change it.

`RALPH_GOLDEN=write pytest tests/golden` writes them anew; look at the difference before you commit it.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
WRITE = os.environ.get("RALPH_GOLDEN") == "write"

# What differs from machine to machine or from time to time, by the name of its field ...
VOLATILE = frozenset(
    {"at", "took", "seconds", "pid", "host", "version", "tool", "tool_sha", "protection", "words", "program"}
)
# ... and by its form, inside any text.
FORMS = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?"), "<time>"),
    (re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b|\b[0-9a-f]{16}\b|\b[0-9a-f]{12}\b"), "<hash>"),
    (re.compile(r"\b((?:[a-z0-9]+-)+)[0-9a-f]{8}\b"), r"\1<id>"),
    (re.compile(r"/[^\s\"':,]*/ralph-demo-\w+"), "<demo>"),
    (re.compile(r"\bpid \d+ on [\w.-]+"), "<process>"),
    (re.compile(r"\b\d+\.\d+s\b"), "<seconds>"),
    (re.compile(r"\b\d+ times more by itself"), "<some> times more by itself"),  # as often as time allows
)


def plain(value: Any, places: dict[str, str], key: str = "") -> Any:
    """A JSON value without what differs each time."""
    if key in VOLATILE:
        return f"<{key}>"
    if isinstance(value, dict):
        return {name: plain(part, places, name) for name, part in value.items()}
    if key == "evidence" and isinstance(value, list):
        return ["<hash>"] if value else []  # how many calls there were depends on the time they took
    if isinstance(value, list):
        return [plain(part, places) for part in value]
    return plain_text(value, places) if isinstance(value, str) else value


def plain_text(text: str, places: dict[str, str]) -> str:
    for path, name in places.items():
        text = text.replace(path, name)
    for form, name in FORMS:
        text = form.sub(name, text)
    return text


def compare(name: str, text: str) -> None:
    """Is this what the golden file says? In writing mode: it is from now on."""
    path = HERE / name
    if WRITE:
        path.write_text(text, encoding="utf-8")
        return
    before = path.read_text(encoding="utf-8")
    if before != text:
        lines = difflib.unified_diff(before.splitlines(), text.splitlines(), name, "now", lineterm="")
        raise AssertionError("\n".join(["not what the golden file says; see goldenkit.py", *lines]))


def ralph_argv() -> list[str]:
    script = os.path.join(os.path.dirname(sys.executable), "ralph")
    return [script] if os.path.exists(script) else [sys.executable, "-m", "ralph"]


class User:
    """Somebody with a home, a configuration and a state directory below `top`."""

    def __init__(self, top: Path, **env: str) -> None:
        self.top, self.env = (
            top,
            {
                "PATH": os.pathsep.join(
                    [os.path.dirname(os.path.realpath(sys.executable)), "/usr/bin", "/bin"]
                ),
                "HOME": str(top / "home"),
                "XDG_CONFIG_HOME": str(top / "config"),
                "RALPH_STATE_DIR": str(top / "state"),
                "TMPDIR": str(top / "tmp"),
                "LANG": "C.UTF-8",
                "COLUMNS": "100",
                **env,
            },
        )
        for folder in ("home", "config/ralph", "state", "tmp"):
            (top / folder).mkdir(parents=True, exist_ok=True)
        (top / "state").chmod(0o700)

    def ralph(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        argv = [*ralph_argv(), *words]
        return subprocess.run(
            argv,
            cwd=cwd,
            env=self.env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
            check=False,
        )

    def git(self, *words: str, cwd: Path) -> None:
        who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.invalid")
        subprocess.run(["git", *who, *words], cwd=cwd, env=self.env, check=True, capture_output=True)
