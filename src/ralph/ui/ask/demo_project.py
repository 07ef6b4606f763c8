"""Makes the sample project "todo" that `ralph demo` works on: a git repository with two real bugs.

It needs Python and git, nothing else. The demo agent (`ralph.agents.demo.agent`) knows this project by
heart; a test keeps the two in step. Nothing is written outside the given folder.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from importlib.resources import files as package_files

from ralph.errors import SetupError, UserError

CHECK = "python3 -m unittest -v"
TASK = "make the tests pass"


def make_project(folder: str) -> None:
    """Writes the sample project into an empty or missing folder."""
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        raise UserError(
            f'the folder for the sample project is not empty: "{folder}"',
            code="E-DEMO-FOLDER",
            next="ralph demo",
        )
    here = package_files("ralph") / "templates" / "demo"
    readme, todo, tests = (
        (here / name).read_text("utf-8") for name in ("README.md", "todo.py.in", "test_todo.py.in")
    )
    first = {"README.md": readme, "todo.py": todo, ".gitignore": "__pycache__/\n*.pyc\n"}
    commits = (("Add the to-do list", first), ("Add tests, two of which fail", {"test_todo.py": tests}))
    commit_files(folder, commits)


def commit_files(folder: str, commits: Iterable[tuple[str, Mapping[str, str]]]) -> None:
    """Makes the folder a repository with these commits, each a subject and files with their content."""
    _git(folder, "-c", "init.defaultBranch=main", "init", "--quiet", "--template=")
    for number, (subject, files) in enumerate(commits):
        for name, content in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as file:
                file.write(content)
        _git(folder, "add", "--", *files)
        _git(folder, "commit", "--quiet", "--no-verify", "-m", subject, minute=number)


def _git(folder: str, *arguments: str, minute: int = 0) -> None:
    """Runs git with a fixed identity and date, deaf to the user's own git settings."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    moment = f"2025-01-01T12:{minute:02}:00+00:00"
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    for who in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{who}_NAME": "Ralph demo", f"GIT_{who}_EMAIL": "demo@ralph.invalid"}
        env[f"GIT_{who}_DATE"] = moment
    try:
        subprocess.run(["git", "-C", folder, *arguments], env=env, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise SetupError(
            "git is missing",
            code="E-GIT-MISSING",
            why="the sample project is a git repository",
            next="ralph doctor",
        ) from None
    except subprocess.CalledProcessError as error:
        raise SetupError(
            "git could not make the sample project",
            code="E-DEMO-GIT",
            at=folder,
            why=str(error.stderr).strip(),
            next="ralph doctor",
        ) from None
