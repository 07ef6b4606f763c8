"""What is known of the programs that an agent's session lives in; each fact was seen in a real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple


class HostFacts(NamedTuple):
    variable: str  # that tells the session's id to commands of the agent; "" = none does
    refuses_by: Literal["exit", "json"] = "exit"  # exit code 2 with words on stderr, or JSON on stdout
    cap: int = 0  # refusals in a row after which the host stops listening; 0 = never
    cap_variable: str = ""
    seconds: int = 120  # that its hooks get for a stop: written into its settings by `ralph skills`
    goal: str = ""  # the host's own command for working until a condition holds
    ignores: tuple[str, ...] = ()  # hooks that it does not have, or does not tell us of


HOST_FACTS: dict[str, HostFacts] = {
    "claude": HostFacts(
        variable="CLAUDE_CODE_SESSION_ID", cap=9, cap_variable="CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", goal="/goal"
    ),
    "codex": HostFacts(variable="CODEX_SESSION_ID", ignores=("TaskCompleted", "TeammateIdle")),
    "gemini": HostFacts(
        variable="", ignores=("SubagentStart", "SubagentStop", "TaskCompleted", "TeammateIdle")
    ),
    "qwen": HostFacts(
        variable="QWEN_CODE_SESSION_ID", cap=8, goal="/goal", ignores=("TaskCompleted", "TeammateIdle")
    ),
    "copilot": HostFacts(
        variable="COPILOT_AGENT_SESSION_ID",
        refuses_by="json",
        cap=9,
        ignores=("SubagentStart", "SubagentStop", "TaskCompleted", "TeammateIdle"),
    ),
    # No hook of it can hold a session back: it has the skill, and works through loops outside.
    "opencode": HostFacts(variable="", ignores=("Stop",)),
}
# What tells an agent that it is inside a session; keys and addresses stay.
_INSIDE = frozenset((
    "CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN", "CODEX_THREAD_ID", "CODEX_TOOL_CALL_ID", "GEMINI_CLI", "QWEN_CODE",
    "COPILOT_CLI", *(facts.variable for facts in HOST_FACTS.values()),
))  # fmt: skip


def without_session(env: Mapping[str, str]) -> dict[str, str]:
    """The environment for an agent of Ralph's own: a judge, or a loop that goes on outside."""
    return {key: value for key, value in env.items() if key not in _INSIDE}
