"""For all tests: no example is judged by the clock, nothing of the user's environment is inherited."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples each time: no push fails by chance. `--hypothesis-profile search` seeks others.
settings.register_profile("ralph", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("ralph")

# Where `make agents` has put the CLIs; whether golden files are written.
KEPT = ("RALPH_AGENTS_CACHE", "RALPH_GOLDEN")
for name in [name for name in os.environ if name.startswith("RALPH_") and name not in KEPT]:
    del os.environ[name]


# Modules with long tests, which mostly wait: begun first, so that no worker is alone with them at the end.
LONG = (
    "test_inferred",
    "test_landing",
    "test_agents_plain",
    "test_real_faults",
    "test_build",
    "test_landing_cli",
    "test_journal_crash",
    "test_crash_points",
    "test_shapes_other",
    "test_real_work",
    "test_verify_setup",
    "test_control",
    "test_sandbox_plain",
    "test_workspace_user",
    "test_real_acp",
    "test_judge",
    "test_canary",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(LONG)))


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
    """A module of which the marks leave nothing is not read: each worker would rewrite its assertions."""
    marks = config.option.markexpr
    if collection_path.suffix != ".py" or not marks.startswith(("slow", "not slow")):
        return None
    text = collection_path.read_text(encoding="utf-8")
    left_out = "\npytestmark = pytest.mark.slow\n" in text if marks.startswith("not") else "slow" not in text
    return True if left_out else None
