"""Inside the box: start the scripted server, start the CLI, write down how it ended. Started by drive.py.

    python boxed.py FOLDER

The folder holds order.json; stdout, stderr, requests.jsonl and calls.json are left in it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

from cases import TASK
from clis import BASE, CLIS, Cli

HERE = os.path.dirname(os.path.abspath(__file__))
BRIDGE = os.path.join(HERE, "..", "..", "src", "ralph", "agents", "acp", "bridge.py")
HOME = "/home/user"
PROJECT = "/home/user/project"
AGENTS = "/opt/agents"


def fill(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def argv_of(cli: Cli, case: dict[str, Any], values: dict[str, str], again: bool) -> list[str]:
    argv: list[str] = []
    for word in cli.argv:
        if word == "{session}":
            argv.extend(cli.resume if again else cli.fresh)
        elif case.get("timid") and word in cli.timid:
            argv.extend([cli.timid[word]] if cli.timid[word] else [])
        else:
            argv.append(fill(word, values))
    return [*argv, *(cli.turns if case.get("turns") else ())]


def stop(process: subprocess.Popen[bytes]) -> int:
    """SIGTERM to the group, a short grace, SIGKILL; the process space of the box takes the rest."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        return process.wait(3)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def serve(case: dict[str, Any], out: str) -> tuple[subprocess.Popen[bytes], str]:
    """The scripted server, listening, and its address."""
    with open(f"{out}/script.json", "w") as file:
        json.dump({key: case[key] for key in ("replies", "talks", "sub") if key in case}, file)
    ready = f"{out}/ready.json"
    argv = [sys.executable, f"{HERE}/server.py", "--script", f"{out}/script.json", "--ready", ready]
    server = subprocess.Popen([*argv, "--record", out])
    while not os.path.exists(ready):
        time.sleep(0.02)
    with open(ready) as file:
        url = json.load(file)["url"]
    return server, "http://127.0.0.1:9" if case.get("refused") else url


def surroundings(cli: Cli, case: dict[str, Any], values: dict[str, str]) -> dict[str, str]:
    """Write the files it wants, and make its environment from nothing."""
    for path, text in {**cli.files, **(cli.turns_files if case.get("turns") else {})}.items():
        os.makedirs(os.path.dirname(f"{HOME}/{path}"), exist_ok=True)
        with open(f"{HOME}/{path}", "w") as file:
            file.write(fill(text, values))
    env = {**BASE, "HOME": HOME, **{key: fill(value, values) for key, value in cli.env.items()}}
    env |= cli.limited if case.get("limited") else {}
    return env | (cli.timid_env if case.get("timid") else {})


def call(
    argv: list[str], env: dict[str, str], out: str, limit: float, linger: float | None
) -> dict[str, Any]:
    """One life of the CLI. With `linger` it is stopped so many seconds after its first request."""
    with open(f"{out}/prompt", "w") as prompt:
        prompt.write(TASK)
    start = time.monotonic()
    with (
        open(f"{out}/prompt") as stdin,
        open(f"{out}/stdout", "ab") as stdout,
        open(f"{out}/stderr", "ab") as err,
    ):
        process = subprocess.Popen(
            argv, cwd=PROJECT, env=env, stdin=stdin, stdout=stdout, stderr=err, start_new_session=True
        )
        end = start + limit
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
            if linger is not None and asked(out):
                end, linger = time.monotonic() + linger, None
        killed = process.poll() is None
        code = stop(process) if killed else process.returncode
    return {"exit": code, "killed": killed, "seconds": round(time.monotonic() - start, 2), "argv": argv}


def asked(out: str) -> bool:
    """Whether the model was asked for the task itself."""
    with open(f"{out}/requests.jsonl") as file:
        return '"lane": "main"' in file.read()


def inside(out: str) -> None:
    """Server, then the CLI once or twice, then what came of it."""
    with open(f"{out}/order.json") as file:
        order = json.load(file)
    cli, case = CLIS[order["cli"]], order["case"]
    if case.get("timid") and cli.refused:
        case = {**case, "replies": [*cli.refused, {"say": "I could not write."}]}
    server, url = serve(case, out)
    values = {"url": url, "home": HOME, "exe": f"{AGENTS}/{order['exe']}", "prompt": TASK}
    values |= {"python": sys.executable, "bridge": BRIDGE}
    env = surroundings(cli, case, values) | order["env"]
    calls = []
    for again in range(2 if case.get("twice") else 1):
        argv = [*argv_of(cli, case, values, again=bool(again)), *order["args"]]
        calls.append(call(argv, env, out, order["limit"], case.get("linger")))
    server.kill()
    server.wait()
    with open(f"{out}/calls.json", "w") as file:
        json.dump({"calls": calls, "left": survivors()}, file)


def survivors() -> list[str]:
    """What still lives in the box besides us and its init."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) in {1, 2, os.getpid()}:
            continue
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        if words:
            found.append(words[:120])
    return found


if __name__ == "__main__":
    inside(sys.argv[1])
