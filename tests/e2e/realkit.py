"""Real agent CLIs in whole loops: installed on demand, against the scripted model, without a network.

A test plans commands of `ralph`; this file, started once more as a program in a network namespace that has
nothing but loopback, starts the scripted server there and then those commands. A test sees what came of it:
exit codes and screens, the journal, and everything that the model was asked.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MODELS = HERE.parent / "models"
TOOLS = HERE.parents[1] / "tools" / "agents"
sys.path[:0] = [str(HERE), str(MODELS), str(TOOLS)]

MAIN = ("claude", "codex", "goose", "gemini")
OTHERS = ("opencode", "copilot", "qwen", "aider", "mini")
EACH = {"input": 100, "output": 10}  # tokens of every answer, unless a script says otherwise
TOKENS = sum(EACH.values())
CLOSED = "http://127.0.0.1:9"  # nobody listens there

# What a user of each has in the environment: the key, which is no matter of configuration.
KEYS = {
    "claude": ("ANTHROPIC_API_KEY", "sk-ant-scripted-key"),
    "codex": ("OPENAI_API_KEY", "sk-scripted-key-of-codex"),
    "goose": ("OPENAI_API_KEY", "sk-scripted-key-of-goose"),
    "gemini": ("GEMINI_API_KEY", "scripted-key-of-gemini"),
    "opencode": ("OPENAI_API_KEY", "sk-scripted-key-of-opencode"),
    "copilot": ("COPILOT_PROVIDER_API_KEY", "sk-scripted-key-of-copilot"),
    "qwen": ("OPENAI_API_KEY", "sk-scripted-key-of-qwen"),
    "aider": ("OPENAI_API_KEY", "sk-scripted-key-of-aider"),
    "mini": ("OPENAI_API_KEY", "sk-scripted-key-of-mini"),
}
# Its key stands for the variable: none may stand in a configuration file.
OPENCODE: dict[str, Any] = {
    "model": "mock/scripted",
    "small_model": "mock/scripted",
    "autoupdate": False,
    "share": "disabled",
    "provider": {
        "mock": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": "{url}/v1", "apiKey": "{env:OPENAI_API_KEY}"},
            "models": {"scripted": {"limit": {"context": 100000, "output": 8000}}},
        }
    },
}
# And in the user's configuration, as [agents.NAME] env: where the model is.
ENDPOINTS: dict[str, dict[str, str]] = {
    "claude": {"ANTHROPIC_BASE_URL": "{url}"},
    "codex": {"OPENAI_BASE_URL": "{url}/v1"},
    "goose": {"OPENAI_HOST": "{url}", "GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "scripted"},
    "gemini": {"GOOGLE_GEMINI_BASE_URL": "{url}"},
    "opencode": {"OPENCODE_CONFIG_CONTENT": json.dumps(OPENCODE), "OPENCODE_DISABLE_MODELS_FETCH": "1"},
    "copilot": {
        "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_MODEL": "gpt-4.1",
        "COPILOT_OFFLINE": "true",
    },
    "qwen": {"OPENAI_BASE_URL": "{url}/v1"},
    "aider": {"OPENAI_API_BASE": "{url}/v1"},
    "mini": {"OPENAI_API_BASE": "{url}/v1"},
}
MODELS_ASKED = {
    "codex": "gpt-5.5",
    "gemini": "gemini-2.5-pro",
    "qwen": "scripted",
    "aider": "openai/scripted",
    "mini": "openai/scripted",
}


def body(name: str, right: str) -> dict[str, Any]:
    """The edit that mends one function of the calc project."""
    wrong = {"add": "a - b", "mul": "a + b"}[name]
    head = f"def {name}(a, b):\n    return "
    return {"edit": {"path": "calc.py", "old": head + wrong, "new": head + right}}


LOOK = {"say": "I look at the file first.", "read": {"path": "calc.py"}}
ADD, MUL = body("add", "a + b"), body("mul", "a * b")
WORK = [LOOK, ADD, MUL, {"say": "Both functions are right now."}]
BLOCK = """---RALPH_STATUS---
STATUS: COMPLETE
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: 1
TESTS_STATUS: PASSING
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: true
RECOMMENDATION: none
---END_RALPH_STATUS---"""


# Mended by one command: line 9 is the body of `add`, line 13 that of `mul`.
MENDING = {"bash": "sed -i '9s/a - b/a + b/;13s/a + b/a * b/' calc.py"}


def forever(**reply: Any) -> dict[str, Any]:
    return {"replies": [{**reply, "times": "forever"}]}


def cli(name: str) -> str:
    """The program behind an agent's name: over ACP it is the same one."""
    return name.removeprefix("acp-")


def folders(name: str) -> list[str]:
    """Where the program is found: what a user's PATH would hold after installing it."""
    import install

    name = cli(name)
    pin = install.pins()[name]
    start = install.ensure(name)
    if not pin.get("node"):
        return [os.path.dirname(start)]
    node = os.path.realpath(install.ensure("node"))
    program = os.path.join(install.folder(name, pin), pin["program"])
    return [os.path.dirname(program), os.path.dirname(node)]


def config(names: tuple[str, ...], settings: dict[str, Any], url: str = "{url}") -> str:
    """The user's configuration file."""
    tables = []
    for name in map(cli, names):
        lines = [f"{key} = {json.dumps(value)}" for key, value in ENDPOINTS.get(name, {}).items()]
        tables.append(f"[agents.{name}.env]\n" + "\n".join(lines).replace("{url}", url))
        if settings:
            given = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
            tables.append(f"[agents.{name}.settings]\n" + "\n".join(given))
    return "\n\n".join(tables) + "\n"


class Played:
    """What came of the commands: each one's end, the loop's record, the requests of the model."""

    def __init__(self, place: Any, folder: Path, facts: dict[str, Any]) -> None:
        from kit import Done

        self.place, self.links = place, facts["links"]
        lines = (folder / "requests.jsonl").read_text().splitlines()
        self.facts = [json.loads(line) for line in lines]
        record = place.newest()
        self.done = [
            Done(
                code=one["code"] if one["code"] >= 0 else 128 - one["code"],
                out=(folder / f"{number}.out").read_text(errors="replace"),
                err=(folder / f"{number}.err").read_text(errors="replace"),
                seconds=one["seconds"],
                record=record,
            )
            for number, one in enumerate(facts["commands"])
        ]

    @property
    def last(self) -> Any:
        return self.done[-1]

    def asked(self, lane: str | None = "main") -> list[dict[str, Any]]:
        return [fact for fact in self.facts if "lane" in fact and lane in (None, fact["lane"])]

    def told(self) -> str:
        """Everything that the model was told, tool results included."""
        return "\n".join(json.dumps(fact.get("body")) for fact in self.asked(None))

    def calls(self) -> list[Any]:
        from ralph.core.model.events import AgentEnded

        return self.last.all(AgentEnded)

    def faults(self) -> list[str | None]:
        return [call.fault.kind if call.fault else None for call in self.calls()]


class World:
    """A user who has some of these CLIs, an empty home, and nothing else in the environment."""

    def __init__(self, top: Path, *names: str) -> None:
        from kit import Place, search_path

        self.names, self.top = names, top
        self.seen = top.parent / "real-protection.json"  # what the sandbox was found to block, once
        self.home = top / "home"
        self.place = Place(top / "w", self.home, seen=self.seen)
        self.path = search_path(*(part for name in names for part in folders(name)))

    def loop(self, *flags: str, check: str = "") -> list[str]:
        import kit

        words = [*kit.ralph_argv(), "loop", kit.TASK, "--check", check or kit.CHECK, "--display", "plain"]
        asked = MODELS_ASKED.get(cli(self.names[0]))
        model = ["--model", asked] if asked else []
        return [*words, "--agent", ",".join(self.names), *model, "--confirm", "1", *flags]

    def play(
        self,
        script: dict[str, Any],
        *commands: list[str],
        url: str = "{url}",
        settings: dict[str, Any] | None = None,
        more: str = "",
        limit: float = 120,
        back_at: str = "",
        **env: str | None,
    ) -> Played:
        """All commands, one after the other, in a place where there is no network but loopback.

        With `back_at` the model's server is gone at first, and comes back when these words are on the screen.
        """
        place, folder = self.place, self.top / "played"
        folder.mkdir()
        given = place.config / "ralph" / "config.toml"
        given.write_text(config(self.names, settings or {}, url) + more)
        keys = dict(KEYS[cli(name)] for name in self.names)
        plan = {
            "script": script,
            "files": [str(given)],
            "commands": commands,
            "back_at": back_at,
            "cwd": str(place.repo),
            "env": place.env(PATH=self.path, **{**keys, **env}),
        }
        (folder / "plan.json").write_text(json.dumps(plan))
        argv = [sys.executable, "-S", str(MODELS / "lonely.py"), sys.executable, __file__, str(folder)]
        played = subprocess.run(
            argv, capture_output=True, text=True, timeout=limit, check=False, env={"PATH": self.path}
        )
        assert played.returncode == 0, f"exit {played.returncode}: {played.stderr[-3000:]}"
        probed = place.state / "protection.json"
        if not self.seen.exists() and probed.exists():
            shutil.copy(probed, self.seen)
        return Played(place, folder, json.loads((folder / "played.json").read_text()))

    def expect(
        self, played: Played, outcome: str, code: int, faults: list[str | None], *, untouched: bool = True
    ) -> Any:
        """What must hold whatever happened: its end, nobody left, only loopback, only the scripted key."""
        loop = self.place.expect(played.last, outcome, code, len(faults), untouched=untouched)
        assert played.faults() == faults, played.last.report()
        self._lonely(played)
        return loop

    def _lonely(self, played: Played) -> None:
        assert played.links == ["lo"]
        keys = [KEYS[cli(name)][1] for name in self.names]
        for fact in played.asked(None):
            sent = json.dumps(fact["headers"])
            assert any(key in sent for key in keys), sent


def play(folder: Path) -> None:
    """In the namespace: the server, then each command to its end, then what was seen."""
    from modelkit import serving

    plan = json.loads((folder / "plan.json").read_text())
    script = json.loads(json.dumps(plan["script"]).replace("{soon}", str(int(time.time()) + 6)))
    made = []
    with contextlib.ExitStack() as stack:
        model = stack.enter_context(serving(folder, script))
        for path in plan["files"]:
            Path(path).write_text(Path(path).read_text().replace("{url}", model.url))
        if plan["back_at"]:
            stack.close()
        for number, command in enumerate(plan["commands"]):
            began = time.monotonic()
            screen = folder / f"{number}.err"
            with (folder / f"{number}.out").open("wb") as out, screen.open("wb") as err:
                done = subprocess.Popen(
                    command,
                    cwd=plan["cwd"],
                    env=plan["env"],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                )
            if plan["back_at"]:
                while done.poll() is None and plan["back_at"] not in screen.read_text():
                    time.sleep(0.05)
                stack.enter_context(serving(folder, script, port=model.port))
            made.append({"code": done.wait(), "seconds": time.monotonic() - began})
    links = re.findall(r"^\s*(\S+):", Path("/proc/net/dev").read_text(), re.MULTILINE)
    (folder / "played.json").write_text(json.dumps({"commands": made, "links": links}))


if __name__ == "__main__":
    play(Path(sys.argv[1]))
