"""Which environment variables reach an agent, and the marker that says "inside a loop".

An agent starts from an empty environment: what its work needs is let in by name. Git, SSH agent, cloud
and `RALPH_*` variables of the user stay out unless named in `[agents.NAME] env`; `RALPH_*` always.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from functools import lru_cache

from ralph.agents import CallContext

LOOP_MARKER = "RALPH_LOOP_ID"

# What any program needs to find its way: search path, home, language, terminal, proxies, certificates.
ORDINARY: tuple[str, ...] = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM"),
    *("NO_COLOR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy"),
    *("all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("NODE_EXTRA_CA_CERTS", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"),
    "RUSTUP_HOME",  # `cargo` on PATH is a link that looks there for the real one
)
# What a user's own agent command is expected to see: keys and addresses of model providers.
PROVIDERS: tuple[str, ...] = (
    *("ANTHROPIC_*", "CLAUDE_*", "OPENAI_*", "CODEX_*", "AZURE_OPENAI_*", "GEMINI_*", "GOOGLE_API_KEY"),
    *("OPENROUTER_*", "MISTRAL_*", "DEEPSEEK_*", "GROQ_*", "XAI_*", "ZAI_*", "MOONSHOT_*", "MINIMAX_*"),
    *("DASHSCOPE_*", "OLLAMA_*"),
)

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_SHORTEST_SECRET = 8


def agent_environ(call: CallContext, *allowed: Iterable[str]) -> dict[str, str]:
    """The agent's whole environment: allowed variables of the user, and where it is in the loop."""
    let_in = _any_of(tuple(pattern for group in allowed for pattern in group))
    env = {
        name: value
        for name, value in call.environ.items()
        if not name.startswith("RALPH_") and let_in.match(name)
    }
    env[LOOP_MARKER] = call.loop
    env["RALPH_ITERATION"] = str(call.iteration)
    env["RALPH_CALL"] = str(call.call)
    env["RALPH_WORKSPACE"] = call.workspace
    env["RALPH_PROMPT_FILE"] = call.prompt_file
    return env


@lru_cache(maxsize=8)
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)) or r"(?!)")


def matches_any(name: str, patterns: tuple[str, ...]) -> bool:
    return _any_of(patterns).match(name) is not None


def holds_secret(name: str) -> bool:
    """Does a variable of this name hold what must never be shown or stored?"""
    return _SECRET_NAME.search(name) is not None


def enclosing_loop(environ: Mapping[str, str]) -> str:
    """The loop whose agent we are running in, "" for none. A loop started there is refused."""
    return environ.get(LOOP_MARKER, "")


def secret_values(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Values that must never be shown, judged by the names of their variables. Paths are no secrets."""
    return tuple(
        value
        for name, value in environ.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET and not value.startswith(("/", "~/"))
    )
