"""How much of a window a prompt takes: an estimate that every table and every budget shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.prompt.budget import DEFAULT, PromptPart, parts_of, prefix, tokens, window
from ralph.core.text.quoting import fence_text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("a", 1),
        ("a" * 7, 2),
        ("a" * 8, 3),
        ("a" * 3500, 1000),
        ("日本語", 3),
        ("é" * 7 + "a" * 7, 9),
    ],
)
def test_the_estimate(text: str, count: int) -> None:
    """3.5 ASCII characters are a token, every other character is one."""
    assert tokens(text) == count


@given(st.text(max_size=300), st.integers(min_value=0, max_value=120))
def test_a_beginning_keeps_to_its_tokens_and_wastes_none(text: str, most: int) -> None:
    """The longest beginning within the bound: one more character would be too much."""
    kept = prefix(text, most)
    assert text.startswith(kept)
    assert tokens(kept) <= most
    assert kept == text or tokens(text[: len(kept) + 1]) > most


@pytest.mark.parametrize(
    ("agent", "model", "size"),
    [
        ("claude", "", DEFAULT),
        ("claude", "opus", DEFAULT),
        ("claude", "sonnet[1m]", 1_000_000),
        ("gemini", "", 1_048_576),
        ("acp-gemini", "", 1_048_576),
        ("opencode", "google/Gemini-2.5-pro", 1_048_576),
        ("codex", "", 272_000),
        ("codex", "gpt-4o-mini", 128_000),
        ("command", "", DEFAULT),
        ("opencode", "never-heard-of", DEFAULT),
    ],
)
def test_the_window_by_agent_and_model(agent: str, model: str, size: int) -> None:
    """The model's name tells more than the agent's; unknown ones have the usual window."""
    assert window(agent, model) == size


def test_the_parts_of_a_prompt() -> None:
    """Parts go from heading to heading; headings in quoted text and in code are none, and nothing is lost."""
    quoted = fence_text("AGENTS.md", "# Style\n\n--- AGENTS.md 1234 ends ---\n# More", "abcd1234")
    text = f"Hello\n# One\n\n{quoted}\n\n# Two\n```\n# code\n```\nend"
    found = parts_of(text)
    assert [part.title for part in found] == ["(beginning)", "One", "Two"]
    assert sum(part.chars for part in found) == len(text)
    assert found[0] == PromptPart("(beginning)", 6, 2)
    assert parts_of("") == ()


def test_an_open_quotation_reaches_to_the_end() -> None:
    """A mark that is never closed hides the rest, rather than letting quoted headings count."""
    text = "# One\n--- output of x abcd1234 begins ---\n# no\n--- output of x 9999 ends ---\n# neither"
    assert [part.title for part in parts_of(text)] == ["One"]
