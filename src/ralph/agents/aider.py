"""aider: `aider --message-file FILE`. It prints words only and always exits with 0.

So its own lines are all there is: `Tokens: …` after an answer, and the class of a litellm error. It has no
tools; it edits files by parsing the model's answer. Its map of the repository is off, since the map's cache
would stand in the result.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator

from ralph.agents import AgentFact, CallContext, Closed, FaultSeen, Launch, Retried, Said, Spent, ToolUsed
from ralph.agents._kit import cli as cli_
from ralph.agents._kit.cli import Cli
from ralph.agents._kit.environ import PROVIDERS
from ralph.agents._kit.faults import LITELLM, limit_fault
from ralph.agents._kit.stream import Account, Format
from ralph.core.model.agent import FaultKind
from ralph.core.model.order import Order
from ralph.core.text.clean import one_line

CLI = Cli(
    name="aider",
    program="aider",
    install="uv tool install aider-chat",
    env=("AIDER_*", *PROVIDERS),
    keys=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY"),
    login="export OPENAI_API_KEY=…",
    certain=False,
    quiet={
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it fetches a price list first
        "AIDER_CHECK_UPDATE": "false",
        "AIDER_ANALYTICS_DISABLE": "true",
    },
    features=("tokens", "cost", "allow-list"),
    moved_by=("OPENAI_API_BASE", "ANTHROPIC_API_BASE"),
)
_PLAIN = (
    "--yes-always --no-auto-commits --no-dirty-commits --no-check-update --analytics-disable --no-gitignore "
    "--no-show-model-warnings --no-show-release-notes --no-pretty --no-stream --no-detect-urls --map-tokens 0"
)
_TOKENS = re.compile(r"Tokens: ([\d.,]+[kM]?) sent,(?: ([\d.,]+[kM]?) cache \w+,)* ([\d.,]+[kM]?) received\.")
_COST = re.compile(r"Cost: \$([\d.]+) message")
_ERROR = re.compile(r"litellm\.(\w+(?:Error|Exception))")
_EDIT = re.compile(r"Applied edit to (.+)")
_HEADERS = ("Aider v", "Model: ", "Main model: ", "Weak model: ", "Git repo: ", "Repo-map: ", "Added ")
_SCALE = {"k": 1_000, "M": 1_000_000}


def launch(order: Order, call: CallContext) -> Launch:
    argv = ["--message-file", call.prompt_file, *_PLAIN.split(), *cli_.model_words(order, "--model")]
    for flag, name in (("--input-history-file", "input"), ("--chat-history-file", "chat.md")):
        argv += [flag, os.path.join(call.tmp, f"aider.{name}")]
    if not call.boxed:
        argv.append("--no-suggest-shell-commands")
    return cli_.launch(CLI, order, call, *argv, stdin="none")


def _line(account: Account, line: str) -> Iterator[AgentFact]:
    tokens = _TOKENS.match(line)
    if tokens:
        sent, received = _count(tokens[1]), _count(tokens[3])
        cost = _COST.search(line)
        yield Spent(sent + received, float(cost[1]) if cost else None, sent, None, received)
        yield Closed(ok=True, words=account.message)  # what follows are its own lines again
    elif error := _ERROR.search(line):
        yield from _failure_facts(error[1], one_line(line, 300))
    elif edit := _EDIT.match(line):
        yield ToolUsed("edit", one_line(edit[1], 300))
    elif line.startswith("Retrying in "):
        told = account.fault or account.limit  # the failure stands above it
        kind: FaultKind = "limit" if account.limit else account.fault.kind if account.fault else "network"
        yield Retried(kind, told.message if told else one_line(line, 300))
    elif line.startswith(_HEADERS):
        account.seen["begun"] = "yes"  # what comes before is of its start, not of the model
    elif "begun" in account.seen:
        yield Said(f"{line}\n", "answer")


def _failure_facts(name: str, message: str) -> Iterator[AgentFact]:
    gone = "Exception - Connection" in message  # a refused connection has the class of a server's failure
    kind = "network" if gone else LITELLM.get(name, "crash")
    yield Closed(ok=False)
    yield limit_fault(message) if kind == "limit" else FaultSeen(kind, message)


def _count(word: str) -> int:
    scale = _SCALE.get(word[-1], 1)
    digits = re.sub(r"[^\d.]", "", word)
    return int(float(digits) * scale) if re.fullmatch(r"\d+(?:\.\d+)?", digits) else 0


FORMAT = Format(events={}, prose=_line)
