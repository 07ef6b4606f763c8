"""mini-swe-agent: `mini -c mini.yaml -c TASK -o TRAJECTORY`. What it did stands in the trajectory file.

What it prints is for people; the file tells how it ended. It has one tool (a shell) and no conversation
that could be taken up again. Other errors than a refused login it would retry for minutes.
"""

from __future__ import annotations

import json
import os.path
from collections.abc import Iterator

from ralph.agents import (
    PROMPT_AS_JSON,
    AgentFact,
    CallContext,
    Closed,
    FaultSeen,
    Launch,
    Said,
    Spent,
    ToolUsed,
)
from ralph.agents._kit import cli as cli_
from ralph.agents._kit.cli import Cli
from ralph.agents._kit.environ import PROVIDERS
from ralph.agents._kit.faults import LITELLM, limit_fault
from ralph.agents._kit.fields import Fields, count_of, number, rows, table, text, words
from ralph.agents._kit.folders import Folder
from ralph.agents._kit.stream import Account, Format
from ralph.core.model.agent import FaultKind
from ralph.core.model.order import Order

CLI = Cli(
    name="mini",
    program="mini",
    install="uv tool install mini-swe-agent --with mcp",
    version=("--help",),
    env=("MSWEA_*", *PROVIDERS),
    keys=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY"),
    signs=(".env",),
    login="mini-extra config setup",
    certain=False,
    settings=(Folder(".config/mini-swe-agent", "XDG_CONFIG_HOME", "mini-swe-agent"),),
    quiet={
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it fetches a price list first
        "MSWEA_CONFIGURED": "true",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "2",
    },
    features=("tokens", "cost", "turns", "budget"),
    moved_by=("OPENAI_API_BASE", "ANTHROPIC_API_BASE"),
)
TRAJECTORY = "mini-trajectory.json"
_STATUS: dict[str, FaultKind] = {"LimitsExceeded": "turns", **LITELLM}


def launch(order: Order, call: CallContext) -> Launch:
    task = os.path.join(call.scratch, "task.yaml")
    argv = ["-c", "mini.yaml", "-c", task, "-y", "--exit-immediately", *cli_.model_words(order, "-m")]
    argv += ["-o", os.path.join(call.tmp, TRAJECTORY)]
    if call.cost_left is not None:
        argv += ["-l", f"{max(0.01, call.cost_left):.2f}"]
    if "max_turns" in order.agent.settings:
        argv += ["-c", f"agent.step_limit={int(order.agent.settings['max_turns'])}"]
    # JSON is YAML too; the prompt itself must not be an argument.
    settings = {"run": {"task": "?"}}
    content = json.dumps(settings).replace('"?"', PROMPT_AS_JSON)
    return cli_.launch(CLI, order, call, *argv, files={task: content}, stdin="none", outputs=(TRAJECTORY,))


def _trajectory(_account: Account, _name: str, fields: Fields) -> Iterator[AgentFact]:
    info = table(fields, "info")
    read = written = 0
    for message in rows(fields, "messages"):
        if message.get("role") != "assistant":
            continue
        yield Said(text(message, "content"))
        for action in rows(table(message, "extra"), "actions"):
            yield ToolUsed("bash", detail=words(action, "command"))
        usage = table(message, "extra", "response", "usage")
        read += count_of(usage, "prompt_tokens") or 0
        written += count_of(usage, "completion_tokens") or 0
    known = bool(read or written)
    cost = number(table(info, "model_stats"), "instance_cost")
    yield Spent(
        read + written if known else None,
        cost or None,  # an unknown price counts as nothing there
        read if known else None,
        None,
        written if known else None,
    )
    status = words(info, "exit_status", 80)
    if status == "Submitted":
        yield Closed(ok=True, words=text(info, "submission") or None)
        return
    yield Closed(ok=False)
    kind = _STATUS.get(status.rpartition(".")[2], "crash")
    message_ = words(info, "exception_str") or f"it ended with {status or 'no status'}"
    yield limit_fault(message_) if kind == "limit" else FaultSeen(kind, message_)


FORMAT = Format(events={}, file=_trajectory)
