"""A project to be built from specs: a module and its tests, both nearly empty, and criteria in two files."""

from __future__ import annotations

from kit import LIMIT, Done, Place, agent

SPEC = """# {name}

Topic: the {topic} of words.
Job: When I read words, I want to know their {topic}, so that I can compare them.

## Acceptance criteria

{criteria}

## Edge cases

- An empty text gives an empty answer.
- A text of digits is a word.
"""
CRITERIA = {
    "CASE-1": 'Given "ab cd", when I call upper, then I get "AB CD".',
    "CASE-2": 'Given "ab cd", when I call lower, then I get "ab cd".',
    "CASE-3": 'Given "ab cd", when I call title, then I get "Ab Cd".',
    "COUNT-1": 'Given "ab cd", when I call count, then I get 2.',
    "COUNT-2": 'Given "ab cd", when I call letters, then I get 4.',
    "COUNT-3": 'Given "ab cd", when I call first, then I get "ab".',
}
TESTS = """import unittest

import words


class WordsTest(unittest.TestCase):
    def test_there(self):
        self.assertTrue(words.__doc__)
"""
CHECK = "python3 -m unittest"
QUICK = "python3 -c pass"  # says nothing of tests: for what is not about them
FEW = ("CASE-1", "CASE-2")


def spec(*names: str) -> str:
    topic = names[0].partition("-")[0].lower()
    lines = "\n".join(f"- {name}: {CRITERIA[name]}" for name in names)
    return SPEC.format(name=topic.title(), topic=topic, criteria=lines)


def make(place: Place, names: tuple[str, ...] = FEW, **files: str) -> None:
    """The user commits the project; the rest of the work tree stays as dirty as it is."""
    (place.repo / "specs").mkdir()
    contents = {"words.py": '"""Words."""\n', "test_words.py": TESTS}
    for number, topic in enumerate(dict.fromkeys(name.partition("-")[0] for name in names), 1):
        some = [name for name in names if name.startswith(topic)]
        contents[f"specs/{number:02}-{topic.lower()}.md"] = spec(*some)
    contents |= {name.replace("__", "."): text for name, text in files.items()}
    for name, text in contents.items():
        (place.repo / name).write_text(text)
    bare = ("-c", "core.hooksPath=/dev/null")
    place.git(*bare, "rm", "--quiet", "calc.py", "test_calc.py")
    place.git(*bare, "add", *contents)
    place.git(*bare, "commit", "--quiet", "-m", "specs", "--", *contents, "calc.py", "test_calc.py")
    place.forget()


def build_words(*faults: str, check: str = CHECK) -> list[str]:
    return ["build", "--check", check, "--agent-cmd", agent("builder", *faults), "--display", "plain"]


def build(
    place: Place, *faults: str, flags: tuple[str, ...] = (), check: str = CHECK, limit: float = LIMIT
) -> Done:
    return place.ralph(*build_words(*faults, check=check), *flags, limit=limit)


def plan(place: Place, *faults: str, flags: tuple[str, ...] = (), limit: float = LIMIT) -> Done:
    words = ["plan", "--agent-cmd", agent("builder", *faults), "--display", "plain", *flags]
    return place.ralph(*words, limit=limit)
