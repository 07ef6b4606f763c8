"""A project that is to be built from specs: six criteria in two files, a module and tests that are nearly empty."""

from __future__ import annotations

from kit import Done, Place, agent

CASE = """# Case

Topic: words change their case.
Job: When I read words, I want their case changed, so that they look alike.

## Acceptance criteria

- CASE-1: Given "ab cd", when I call upper, then I get "AB CD".
- CASE-2: Given "ab cd", when I call lower, then I get "ab cd".
- CASE-3: Given "ab cd", when I call title, then I get "Ab Cd".

## Edge cases

- An empty text stays empty.
- A text of digits stays as it is.
"""
COUNT = CASE.replace("CASE", "COUNT").replace("# Case", "# Count").replace("change their case", "are counted")
COUNT = COUNT.replace('upper, then I get "AB CD"', "count, then I get 2")
COUNT = COUNT.replace('lower, then I get "ab cd"', "letters, then I get 4")
COUNT = COUNT.replace('title, then I get "Ab Cd"', 'first, then I get "ab"')
TESTS = """import unittest

import words


class WordsTest(unittest.TestCase):
    def test_there(self):
        self.assertTrue(words.__doc__)
"""
CHECK = "python3 -m unittest"


def make(place: Place, **files: str) -> None:
    """The user commits the project; the rest of the work tree stays as dirty as it is."""
    (place.repo / "specs").mkdir()
    names = {
        "specs/01-case.md": CASE,
        "specs/02-count.md": COUNT,
        "words.py": '"""Words."""\n',
        "test_words.py": TESTS,
        **{name.replace("__", "."): text for name, text in files.items()},
    }
    for name, text in names.items():
        (place.repo / name).write_text(text)
    bare = ("-c", "core.hooksPath=/dev/null")
    place.git(*bare, "rm", "--quiet", "--cached", "calc.py", "test_calc.py")
    for name in ("calc.py", "test_calc.py"):
        (place.repo / name).unlink()
    place.git(*bare, "add", *names)
    place.git(*bare, "commit", "--quiet", "-m", "specs", "--", *names, "calc.py", "test_calc.py")
    place.forget()


def build(place: Place, *faults: str, flags: tuple[str, ...] = (), limit: float = 120) -> Done:
    words = ["build", "--check", CHECK, "--agent-cmd", agent("builder", *faults), "--display", "plain"]
    return place.ralph(*words, *flags, limit=limit)
