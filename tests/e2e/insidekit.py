"""Real agent CLIs with Ralph's hooks in them, installed by `ralph skills`, against the scripted model.

A test plans command lines; this file, started once more in a network namespace that has nothing but loopback,
starts one scripted model for each and then all of them at once or one after the other.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MODELS = HERE.parent / "models"
sys.path[:0] = [str(HERE), str(MODELS), str(HERE.parents[1] / "tools" / "agents")]
ID = "11111111-2222-4333-8444-5555555555{:02d}"
SETTINGS = '{\n    "mine" : [1,2],\n\t"hooks": { }\n}'  # as somebody wrote it by hand


class HookWorld:
    """A user with one CLI, a home of their own, and repositories with a failing test."""

    def __init__(self, top: Path, host: str) -> None:
        import install
        from clis import CLIS
        from kit import lib, ralph_argv, search_path

        self.top, self.host, self.cli = top, host, CLIS[host]
        self.ralph, self.exe = ralph_argv(), install.ensure(host)
        self.home = top / "home"
        self.home.mkdir(parents=True)
        for name in ("one", "two"):
            lib.make_calc(str(top / name))
        node = [os.path.dirname(os.path.realpath(install.ensure("node")))]
        self.env = {
            "HOME": str(self.home), "PATH": search_path(*node), "LANG": "C.UTF-8", "TMPDIR": "/tmp",
            "CI": "1",
        }  # fmt: skip
        for path, text in {**self.cli.files, **self._own_settings()}.items():
            (self.home / path).parent.mkdir(parents=True, exist_ok=True)
            (self.home / path).write_text(text)

    def _own_settings(self) -> dict[str, str]:
        """What the user had before: in the file that hooks are merged into, byte for byte."""
        if self.host == "codex":  # which refuses keys that it does not know
            return {".codex/hooks.json": '{\n\t"hooks" : { }\n}'}
        if self.host in ("gemini", "qwen"):
            path = f".{self.host}/settings.json"
            return {path: SETTINGS[:-1] + "," + self.cli.files.get(path, "{}").strip()[1:]}
        return {}

    def listing(self) -> dict[str, bytes]:
        """Every file of the host's folders in the home."""
        found: dict[str, bytes] = {}
        for name in (".claude", ".codex", ".gemini", ".qwen", ".copilot", ".agents", ".config/opencode"):
            for path in sorted((self.home / name).rglob("*")):
                if path.is_file():
                    found[str(path.relative_to(self.home))] = path.read_bytes()
        return found

    def do(self, *words: str, cwd: str = "one", code: int = 0) -> str:
        """A command of `ralph`, as the user types it."""
        done = subprocess.run(
            [*self.ralph, *words], cwd=self.top / cwd, env=self.env, capture_output=True, text=True,
            check=False, timeout=120, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def start(self, number: int, check: str = "python3 -m unittest") -> dict[str, Any]:
        """The model's first act, as for `/ralph it`: it writes the task, and gives it to its session."""
        task = self.top / f"task-{number}.md"
        typed = self.type(number, "session", "start", "--task-file", str(task), "--check", check)["bash"]
        return {"bash": f"echo 'make the tests pass' > {shlex.quote(str(task))} && {typed}"}

    def type(self, number: int, *words: str) -> dict[str, Any]:
        """A command of `ralph` that the model types into the host's shell."""
        which = ["--host", self.host, "--session", ID.format(number)] if self.host == "gemini" else []
        return {"bash": shlex.join([*self.ralph, *words, *which])}

    def play(
        self,
        *talks: tuple[str, list[dict[str, Any]]],
        sub: Sequence[dict[str, Any]] = (),
        flags: Sequence[str] = (),
        **more: str,
    ) -> list[str]:
        """Each talk in its repository, all at the same time; what each model was told. `sub` is what a
        sub-agent does."""
        from kit import LIMIT

        folder = self.top / "played"
        folder.mkdir()
        plan = [{"cwd": str(self.top / name), "script": {"replies": replies, "sub": list(sub)},
                 "argv": [*self._argv(number), *flags]}
                for number, (name, replies) in enumerate(talks)]  # fmt: skip
        env = {**self.env, **self.cli.env, **more}
        order = {"talks": plan, "env": env, "home": str(self.home)}
        (folder / "plan.json").write_text(json.dumps(order))
        argv = [sys.executable, "-S", str(MODELS / "lonely.py"), sys.executable, __file__, str(folder)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT, check=False, env=self.env)
        assert done.returncode == 0, done.stderr[-3000:]
        return [(folder / str(number) / "requests.jsonl").read_text() for number in range(len(talks))]

    def _argv(self, number: int) -> list[str]:
        argv: list[str] = []
        for word in self.cli.argv:
            argv += (
                [one.replace(ID.format(55), ID.format(number)) for one in self.cli.fresh]
                if word == "{session}"
                else [word]
            )
        if self.host == "copilot":
            argv.append("--allow-all-paths")
        if self.host == "codex":
            argv.insert(-1, "--dangerously-bypass-hook-trust")
        return [self.exe if word == "{exe}" else word for word in argv]

    def sessions(self, cwd: str = "one") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.do("session", "list", "--json", cwd=cwd))["sessions"]
        return found


def play(folder: Path) -> None:
    """In the namespace: a model for each talk, then every CLI at once, to its end."""
    from modelkit import serving

    order = json.loads((folder / "plan.json").read_text())
    with ExitStack() as stack:
        started = []
        for number, talk in enumerate(order["talks"]):
            model = stack.enter_context(serving(folder / str(number), talk["script"], lifetime=170))

            def fill(text: str, url: str = model.url) -> str:
                return (
                    text.replace("{url}", url).replace("{home}", order["home"]).replace("{prompt}", "Do it.")
                )

            out = stack.enter_context((folder / f"{number}.out").open("wb"))
            started.append(subprocess.Popen(
                [fill(word) for word in talk["argv"]], cwd=talk["cwd"], stdin=subprocess.PIPE, stdout=out,
                stderr=out,
                env={key: fill(value) for key, value in order["env"].items()},
            ))  # fmt: skip
            pipe = started[-1].stdin
            assert pipe
            pipe.write(b"Make the tests pass.\n")
            pipe.close()
        for one in started:
            one.wait()


if __name__ == "__main__":
    play(Path(sys.argv[1]))
