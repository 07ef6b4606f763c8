"""A place for one change: a repository with the project's dependencies beside it, as its users have them.

Dependencies are installed once per project, into the cache: an environment with what its check needs and an
entry for the project's own source, or `node_modules`. The repository gets a copy that its git ignores.
"""

from __future__ import annotations

import base64
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from changes import Files, Project, Sides
from msgspec import Struct

BIN = Path(os.path.abspath(sys.executable)).parent  # not resolved: the environment that has `ralph`
LIMIT = 900.0
_IDENTITY = ("-c", "user.name=history", "-c", "user.email=history@example.invalid", "-c", "gc.auto=0")


class Place(Struct, frozen=True):
    root: Path
    env: dict[str, str]

    @property
    def repo(self) -> Path:
        return self.root / "repo"


class Ended(Struct, frozen=True):
    code: int
    out: str
    err: str
    seconds: float


@contextmanager
def place(cache: Path) -> Iterator[Place]:
    """A folder with home, state and configuration of its own; gone afterwards."""
    top = cache / "places"
    top.mkdir(parents=True, exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix="p", dir=top)).resolve()
    for folder in ("home", "state", "config", "repo"):
        (root / folder).mkdir(mode=0o700)
    tools = [tool for tool in map(shutil.which, ("git", "bwrap", "node", "npm")) if tool]
    path = dict.fromkeys([*(os.path.dirname(os.path.abspath(tool)) for tool in tools), "/usr/bin", "/bin"])
    env = {
        "PATH": os.pathsep.join(path),
        "HOME": str(root / "home"),
        "XDG_CONFIG_HOME": str(root / "config"),
        "RALPH_STATE_DIR": str(root / "state"),
        "LANG": "C.UTF-8",
    }
    try:
        yield Place(root, env)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def make_repo(cache: Path, project: Project, sides: Sides, here: Place) -> None:
    """The base as one commit; generated files and dependencies beside it, ignored."""
    write(here.repo, sides.base)
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        subprocess.run(
            ["git", *_IDENTITY, *words], cwd=here.repo, env=here.env, check=True, capture_output=True
        )
    write(here.repo, sides.generated)
    put_dependencies(cache, project, here.repo)


def write(folder: Path, files: Files) -> None:
    for path, (content, executable) in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o755 if executable else 0o644)


def put_dependencies(cache: Path, project: Project, repo: Path) -> None:
    made = install(cache, project)
    name = ".venv" if project.registry == "pypi" else "node_modules"
    shutil.copytree(made / name, repo / name, symlinks=True, copy_function=_link)
    if project.registry == "pypi":
        site = next((repo / name / "lib").glob("python*/site-packages"))
        (site / "_editable.pth").write_text(f"{repo / project.source}\n", encoding="utf-8")


def _link(source: str, to: str) -> None:
    """Files of dependencies are never written to: a second name is enough."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), to)
    else:
        os.link(source, to)


def install(cache: Path, project: Project) -> Path:
    place = cache / "installed" / f"{project.registry}-{project.name}"
    done = place / "needs.json"
    wanted = json.dumps([sys.version, project.needs])
    if done.is_file() and done.read_text(encoding="utf-8") == wanted:
        return place
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    if project.registry == "pypi":
        base = getattr(sys, "_base_executable", sys.executable)
        pip = [".venv/bin/python", "-m", "pip", "-q"]
        calls = [[base, "-m", "venv", ".venv"]]
        calls += [[*pip, "install", *project.needs]] if project.needs else []
        calls.append([*pip, "uninstall", "-y", project.name])  # what its own tools use is the source, too
    else:
        calls = [["npm", "install", "--no-save", "--no-package-lock", "--prefix", ".", *project.needs]]
    for words in calls if project.needs or project.registry == "pypi" else []:
        done_ = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
        if done_.returncode:
            raise SystemExit(
                f"bench/history: {project.name}: {shlex.join(words)} failed\n{done_.stderr[-800:]}"
            )
    (place / "node_modules").mkdir(exist_ok=True)
    done.write_text(wanted, encoding="utf-8")
    return place


def make_agent(sides: Sides, here: Place) -> str:
    """The scripted agent beside the repository, with its order in it; the command that starts it."""
    order = {
        "write": {
            path: [base64.b64encode(content).decode(), executable]
            for path, (content, executable) in sides.result.items()
            if sides.base.get(path) != (content, executable)
        },
        "delete": [path for path in sides.base if path not in sides.result],
    }
    text = (Path(__file__).parent / "agent.py").read_text(encoding="utf-8")
    agent = here.root / "agent"
    agent.write_text(
        f"#!{BIN / 'python'}\n" + text.replace("ORDER = {}", f"ORDER = {order!r}"), encoding="utf-8"
    )
    agent.chmod(0o755)
    return shlex.quote(str(agent))


def call(argv: list[str], cwd: Path, env: dict[str, str], limit: float = LIMIT) -> Ended:
    began = time.monotonic()
    done = subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, err = done.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(done.pid, 9)
        out, err = done.communicate()
        return Ended(124, out, err, time.monotonic() - began)
    return Ended(done.returncode, out, err, time.monotonic() - began)
