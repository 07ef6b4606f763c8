"""For all tests: no example is judged by the clock, nothing of the user's environment is inherited."""

from __future__ import annotations

import gc
import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples each time: no push fails by chance. Few in `make check`; many and others in `make soak`.
settings.register_profile("check", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("ralph", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=500)
settings.load_profile("ralph")

# Where `make agents` has put the CLIs; whether golden files are written.
KEPT = ("RALPH_AGENTS_CACHE", "RALPH_GOLDEN")
for name in [name for name in os.environ if name.startswith("RALPH_") and name not in KEPT]:
    del os.environ[name]

LEFT_OUT = pytest.StashKey[set[Path]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part", default="1/1", help="K/N: the K-th of N parts of the modules, for N processes side by side"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`make check` and `make test` run as many rows of a matrix as its mark says, chosen by their names."""
    if os.geteuid() == 0:  # test_sandbox_plain runs these as somebody else
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("plain")])
        items[:] = [item for item in items if not item.get_closest_marker("plain")]
    matrices = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker("slow")
        elif item.get_closest_marker("sample"):
            matrices[item.nodeid.partition("[")[0]].append(item)
    for rows in matrices.values():
        rows.sort(key=lambda row: hashlib.sha256(row.nodeid.encode()).digest())
        for number, row in enumerate(rows):
            (mark,) = row.iter_markers("sample")
            if number >= mark.kwargs.get("test", len(rows)):
                row.add_marker("soak")
                row.add_marker("slow")
            elif number >= mark.kwargs.get("check", len(rows)):
                row.add_marker("slow")
    # Where a module has few tests they are long: begun first, so that no worker is alone with one at the end.
    sizes = Counter(item.path for item in items)
    items.sort(key=lambda item: sizes[item.path])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is made here lives to the end: looking through it for garbage would take a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A module of which marks or the part leave nothing is not read: its assertions would be rewritten."""
    if LEFT_OUT not in config.stash:
        config.stash[LEFT_OUT] = _left_out(config.option.markexpr, config.option.part)
    return True if collection_path in config.stash[LEFT_OUT] else None


def _left_out(marks: str, part: str) -> set[Path]:
    modules = {path: path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("test_*.py")}
    unwanted = ["soak"] * ("not soak" in marks) + ["slow", "soak"] * marks.startswith("not slow")
    whole = [f"\npytestmark = pytest.mark.{mark}\n" for mark in unwanted]
    wanted = {path for path in modules if not any(line in modules[path] for line in whole)}
    if marks.startswith("slow"):
        wanted = {
            path for path in wanted if any(word in modules[path] for word in ("slow", "soak", "sample"))
        }
    number, parts = (int(text) for text in part.split("/"))
    by_size = sorted(wanted, key=lambda path: (len(modules[path]), path))
    return set(modules) - set(by_size[number - 1 :: parts])
