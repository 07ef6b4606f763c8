"""Makes the sample project "todo" that `ralph demo` works on: a git repository with two real bugs.

It needs Python and git, nothing else. The demo agent (`ralph.agents.demo.agent`) knows this project by
heart; a test keeps the two in step. Nothing is written outside the given folder.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping

from ralph.errors import SetupError, UserError

CHECK = "python3 -m unittest -v"
TASK = "make the tests pass"

README = """\
# todo

A to-do list in one file. Lines look like `- [ ] water the plants !2`, where `!1` is urgent and `!9` can wait.

    python3 -m unittest -v

Two tests fail. That is the task.
"""

TODO = '''\
"""A to-do list kept as text lines: `- [ ] water the plants !2`."""

DEFAULT_PRIORITY = 5


def parse(line):
    """One line as a dictionary with text, done and priority."""
    done = line.startswith("- [x]")
    words = line[5:].split()
    priority = DEFAULT_PRIORITY
    if words and words[-1].startswith("!"):
        priority = int(words.pop()[1:])
    return {"text": " ".join(words), "done": done, "priority": priority}


def pending(items):
    """What is left to do, the most urgent first."""
    return sorted((item for item in items if not item["done"]), key=lambda item: -item["priority"])


def progress(items):
    """How much is done, in whole percent."""
    done = sum(1 for item in items if item["done"])
    return 100 * done // len(items)


def render(item):
    """The line of an item."""
    mark = "x" if item["done"] else " "
    return f"- [{mark}] {item['text']} !{item['priority']}"
'''

TESTS = """\
import unittest

import todo


class TodoTest(unittest.TestCase):
    def test_parse_open_item(self):
        self.assertEqual(todo.parse("- [ ] buy milk !1"), {"text": "buy milk", "done": False, "priority": 1})

    def test_parse_done_item_without_priority(self):
        self.assertEqual(todo.parse("- [x] call home"), {"text": "call home", "done": True, "priority": 5})

    def test_pending_shows_the_most_urgent_first(self):
        items = [todo.parse("- [ ] later !9"), todo.parse("- [ ] now !1"), todo.parse("- [x] past !1")]
        self.assertEqual([item["text"] for item in todo.pending(items)], ["now", "later"])

    def test_progress_of_a_half_done_list(self):
        items = [todo.parse("- [x] one"), todo.parse("- [ ] two")]
        self.assertEqual(todo.progress(items), 50)

    def test_progress_of_an_empty_list(self):
        self.assertEqual(todo.progress([]), 100)

    def test_render_is_the_inverse_of_parse(self):
        line = "- [ ] buy milk !1"
        self.assertEqual(todo.render(todo.parse(line)), line)


if __name__ == "__main__":
    unittest.main()
"""

IGNORED = "__pycache__/\n*.pyc\n"

_COMMITS: tuple[tuple[str, dict[str, str]], ...] = (
    ("Add the to-do list", {"README.md": README, "todo.py": TODO, ".gitignore": IGNORED}),
    ("Add tests, two of which fail", {"test_todo.py": TESTS}),
)


def make_project(folder: str) -> None:
    """Writes the sample project into an empty or missing folder."""
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        raise UserError(
            f'the folder for the sample project is not empty: "{folder}"',
            code="E-DEMO-FOLDER",
            next="ralph demo",
        )
    commit_files(folder, _COMMITS)


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
    env |= {
        "GIT_AUTHOR_NAME": "Ralph demo",
        "GIT_AUTHOR_EMAIL": "demo@ralph.invalid",
        "GIT_AUTHOR_DATE": moment,
    }
    env |= {
        "GIT_COMMITTER_NAME": "Ralph demo",
        "GIT_COMMITTER_EMAIL": "demo@ralph.invalid",
        "GIT_COMMITTER_DATE": moment,
    }
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
