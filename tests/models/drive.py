"""Drive a real agent CLI against the scripted server in a box without a network, and keep what it printed.

    python tests/models/drive.py CLI[,CLI…]|all CASE[,CASE…]|all [--save DIR] [--show]

The box: a private home, an empty environment plus the table in clis.py, loopback only, own process space.
"""

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "tools", "agents")]

import install  # noqa: E402
from boxed import AGENTS, HOME, PROJECT  # noqa: E402
from cases import CALC, CASES, TEST  # noqa: E402
from clis import CLIS  # noqa: E402


def box(folder: str, cache: str, argv: list[str]) -> list[str]:
    """Everything readable, nothing of the real home, no network but loopback, own processes."""
    bound = ["--bind", f"{folder}/home", HOME, "--bind", f"{folder}/out", f"{folder}/out"]
    for path in {sys.prefix, sys.base_prefix, HERE}:
        bound += ["--ro-bind", path, path]
    return [
        *("bwrap", "--unshare-user", "--unshare-net", "--unshare-pid", "--die-with-parent", "--new-session"),
        *("--uid", "1000", "--gid", "1000", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *("--tmpfs", "/home", "--tmpfs", "/opt", "--tmpfs", "/tmp", "--ro-bind", cache, AGENTS, *bound),
        *("--chdir", PROJECT, "--clearenv", "--", *argv),
    ]


def order(name: str, label: str, exe: str, limit: float = 40) -> dict[str, Any]:
    """What boxed.py is told to do."""
    return {
        "cli": name,
        "case": CASES.get(label, {}),
        "exe": exe,
        "env": {},
        "args": [],
        "limit": limit,
    }


def drive(cache: str, wish: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """One CLI through one case; the folder with all that came of it is the caller's to remove."""
    folder = tempfile.mkdtemp(prefix="drive-")
    project = f"{folder}/home/project"
    os.makedirs(project)
    os.makedirs(f"{folder}/out")
    for path, text in {"calc.py": CALC, "test_calc.py": TEST}.items():
        with open(f"{project}/{path}", "w") as file:
            file.write(text)
    subprocess.run(["git", "init", "-q", project], check=True)
    with open(f"{folder}/out/order.json", "w") as file:
        json.dump(wish, file)
    for root, _, files in os.walk(folder):
        os.chmod(root, 0o777)
        for file_name in files:
            os.chmod(os.path.join(root, file_name), 0o666)
    argv = [sys.executable, f"{HERE}/boxed.py", f"{folder}/out"]
    subprocess.run(box(folder, cache, argv), check=True, stdin=subprocess.DEVNULL)
    with open(f"{folder}/out/calls.json") as file:
        made = json.load(file)
    with open(f"{folder}/out/requests.jsonl") as file:
        requests = [json.loads(line) for line in file]
    lanes: dict[str, int] = {}
    for request in requests:
        if "lane" in request:
            lanes[request["lane"]] = lanes.get(request["lane"], 0) + 1
    made["requests"] = lanes
    offered = [request.get("offered", []) for request in requests if request.get("lane") == "main"]
    made["tools"] = sorted({tool for tools in offered for tool in tools})
    made["files"] = changed(project)
    return made, folder


def keep(source: str, target: str) -> None:
    """A copy without the one path of this machine that the box shows: where its Python stands."""
    with open(source, "rb") as file:
        data = file.read()
    with open(target, "wb") as file:
        file.write(data.replace(sys.base_prefix.encode(), b"/usr/local"))


def save(target: str, name: str, label: str, made: dict[str, Any], out: str) -> None:
    """The stream as it was, and its row in the one index file."""
    os.makedirs(f"{target}/{name}", exist_ok=True)
    ending = "txt" if CLIS[name].prose else "jsonl"
    keep(f"{out}/stdout", f"{target}/{name}/{label}.{ending}")
    beside = f"{out}/../home/{CLIS[name].keeps}"
    if CLIS[name].keeps and os.path.exists(beside):
        keep(beside, f"{target}/{name}/{label}.{CLIS[name].keeps}")
    with open(f"{out}/stderr", errors="replace") as file:
        stderr = file.read()
    row = {
        "exit": [call["exit"] for call in made["calls"]],
        "killed": any(call["killed"] for call in made["calls"]),
        "requests": made["requests"],
        "files": sorted(made["files"]),
        "left": made["left"],
        "tools": made["tools"] if label == "success" else [],
        "stderr": stderr[-600:],
    }
    with open(f"{target}/index.json", "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        index = json.loads(file.read() or "{}")
        index.setdefault(name, {})[label] = row
        file.truncate(0)
        file.write(json.dumps(index, indent=1, sort_keys=True) + "\n")


def changed(project: str) -> dict[str, str]:
    found = {}
    for root, folders, files in os.walk(project):
        folders[:] = [folder for folder in folders if folder not in {".git", "__pycache__"}]
        for name in files:
            path = os.path.join(root, name)
            with open(path, errors="replace") as file:
                text = file.read()
            short = os.path.relpath(path, project)
            if {"calc.py": CALC, "test_calc.py": TEST}.get(short) != text:
                found[short] = text[:200]
    return found


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cli")
    parser.add_argument("case")
    parser.add_argument("--save", help="folder for recorded streams")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--limit", type=float, default=40, help="seconds until the CLI is stopped")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--env", action="append", default=[], help="NAME=VALUE, over the table's")
    parser.add_argument("--arg", action="append", default=[], help="one more argument")
    parser.add_argument("--script", help="JSON file with a case of your own, used under the name CASE")
    wanted = parser.parse_args(argv)
    cases = dict(CASES)
    if wanted.script:
        with open(wanted.script) as file:
            cases[wanted.case] = json.load(file)
    for name in list(CLIS) if wanted.cli == "all" else wanted.cli.split(","):
        for label in list(cases) if wanted.case == "all" else wanted.case.split(","):
            if name not in cases[label].get("only", [name]):
                continue
            exe = os.path.relpath(install.ensure(name.removeprefix("acp-")), install.cache())
            wish = order(name, label, exe, wanted.limit)
            wish |= {"case": cases[label], "args": wanted.arg}
            wish["env"] = dict(pair.split("=", 1) for pair in wanted.env)
            made, folder = drive(install.cache(), wish)
            for call in made["calls"]:
                end = f"exit {call['exit']:4} {call['seconds']:6.2f}s{' killed' if call['killed'] else ''}"
                rest = f"{made['requests']} left={len(made['left'])} {sorted(made['files'])}"
                print(f"{name:9} {label:16} {end} {rest}", flush=True)
            if wanted.save:
                save(wanted.save, name, label, made, f"{folder}/out")
            if wanted.show:
                for part in ("stdout", "stderr"):
                    with open(f"{folder}/out/{part}", errors="replace") as file:
                        print(f"--- {part}\n{file.read()}")
            if wanted.keep:
                print(folder)
            else:
                shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
