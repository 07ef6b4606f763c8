"""The profiles that Ralph brings along: entries of the lowest layer, which a user's own tables go over.

They name addresses, models and the variable that holds a key, never a key. `--model` goes before theirs.
"""

from __future__ import annotations

from ralph.shell.config.settings import Entry, Origin, Value


def _compatible(url: str, key: str, large: str, small: str) -> dict[str, Value]:
    """Claude Code with another provider that speaks the same protocol."""
    env = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "",  # the other provider's key must not go there
        "ANTHROPIC_DEFAULT_OPUS_MODEL": large,
        "ANTHROPIC_DEFAULT_SONNET_MODEL": large,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": small,
        "API_TIMEOUT_MS": "3000000",
    }
    key_as = "ANTHROPIC_AUTH_TOKEN"
    return {"agent": "claude", "env": env, "key_from": key, "key_as": key_as, "limits.iterations": 30}


BUILT_IN: dict[str, dict[str, Value]] = {
    "claude": {"agent": "claude", "limits.iterations": 15},
    "glm5": _compatible("https://api.z.ai/api/anthropic", "ZAI_API_KEY", "glm-5", "glm-4.5-air"),
    "minimax": _compatible("https://api.minimax.io/anthropic", "MINIMAX_API_KEY", "MiniMax-M2", "MiniMax-M2"),
}
# Flags that stand for a profile; the first is the one that is shown.
FLAGS: dict[str, tuple[str, ...]] = {"glm5": ("--with-glm5",), "minimax": ("--mmc", "--minimax")}


def layer() -> dict[str, Entry]:
    origin = Origin("defaults", "built in")
    return {
        f"profiles.{name}.{key}": Entry(value, origin)
        for name, fields in BUILT_IN.items()
        for key, value in fields.items()
    }
