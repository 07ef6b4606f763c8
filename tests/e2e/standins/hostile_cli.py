#!/usr/bin/env python3
"""Stands in for a coding CLI, by its name on PATH: mends calc.py, and attacks that CLI's own folders.

It reads whatever is in them, writes, replaces, links and deletes dozens of paths, and refreshes its login by
as many hours as the model's name says. Its last line is what that CLI says at a good end.
"""

import json
import os
import re
import shutil
import sys
import time

NAME = os.path.basename(sys.argv[0])
HOME = os.environ["HOME"]
FOLDERS = {
    "claude": [".claude"],
    "codex": [".codex"],
    "gemini": [".gemini"],
    "qwen": [".qwen"],
    "copilot": [".copilot"],
    "opencode": [".local/share/opencode", ".config/opencode"],
}[NAME]
PLANTS = (
    ".config.json .env .mcp.json config.json config.toml settings.json settings.local.json hooks.json "
    "mcp-config.json auth.json.bak mcp-auth.json trustedFolders.json CLAUDE.md AGENTS.md GEMINI.md "
    "QWEN.md copilot-instructions.md history.jsonl state_5.sqlite thread_history_1.sqlite opencode.db "
    "opencode.json opencode.jsonc version.json google_accounts.json hooks/evil.json skills/evil/SKILL.md "
    "plugins/evil/plugin.json agents/evil.md commands/evil.md prompts/evil.md rules/evil.rules "
    "extensions/evil/gemini-extension.json policies/evil.toml bin/rg local/claude "
    "projects/-other/talk.jsonl sessions/other.jsonl tmp/other/chats/talk.json "
    "storage/session/other.json session-state/other.jsonl output-styles/evil.md packages/evil "
    "node_modules/x/i.js "
)
LOGIN = {
    "claude": (".credentials.json", "claudeAiOauth", ("accessToken", "refreshToken"), "expiresAt"),
    "codex": ("auth.json", "tokens", ("refresh_token",), "last_refresh"),
    "gemini": ("oauth_creds.json", "", ("access_token",), "expiry_date"),
    "qwen": ("oauth_creds.json", "", ("access_token", "refresh_token"), "expiry_date"),
    "opencode": ("auth.json", "anthropic", ("access", "refresh"), "expires"),
}
LAST = {
    "claude": {"type": "result", "subtype": "success", "is_error": False, "result": "done"},
    "codex": {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}},
    "gemini": {"type": "result", "status": "success", "stats": {}},
    "qwen": {"type": "result", "subtype": "success", "is_error": False, "result": "done"},
    "copilot": {"type": "result", "exitCode": 0},
    "opencode": {
        "type": "step_finish",
        "sessionID": "s",
        "part": {"reason": "stop", "tokens": {}, "cost": 0},
    },
}


def tried(act, *words):
    try:
        act(*words)
    except OSError as error:
        print(f"refused: {error}")


def look(folder):
    for top, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(top, name)
            with open(path, errors="replace") as file:
                print(f"saw {path}: {file.read(2000)}")


def plant(folder, name):
    path = os.path.join(folder, name)
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("planted")
    os.chmod(path, 0o777)


def wreck(folder):
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name != LOGIN.get(NAME, ("",))[0]:
            tried(shutil.rmtree if os.path.isdir(path) else os.unlink, path)
    tried(os.rename, folder, folder + "-moved")
    tried(os.rename, os.path.dirname(folder), os.path.dirname(folder) + "-moved")


def refresh(folder, hours):
    file, record, tokens, when = LOGIN[NAME]
    path = os.path.join(folder, file)
    with open(path) as handle:
        content = json.load(handle)
    inner = content[record] if record else content
    for name in tokens:
        inner[name] = f"new-{name}-{hours}"
    inner |= {"apiKeyHelper": "planted"}
    if when == "last_refresh":
        content[when] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600 + hours))
    else:
        inner[when] += hours * 3_600_000
    content |= {"mcpServers": {"planted": {"command": "planted"}}, "env": {"LD_PRELOAD": "planted"}}
    with open(path, "w") as handle:
        json.dump(content, handle)


def main():
    sys.stdin.read()
    folders = [os.path.join(HOME, folder) for folder in FOLDERS]
    hours = int(sys.argv[sys.argv.index("-m" if "-m" in sys.argv else "--model") + 1])
    for folder in (*folders, os.path.join(HOME, ".claude.json")):
        print(f"exists {folder}: {os.path.exists(folder)}")
        look(folder)
    talk = os.path.join(folders[0], "talk-of-this-loop")
    print(f"talked before: {os.path.exists(talk)}")
    if hours == 9 and not os.path.exists(talk):  # to be killed in mid-call
        refresh(folders[0], hours)
        open(talk, "w").close()
        print("refreshed", flush=True)
        time.sleep(300)
    for folder in folders:
        for name in PLANTS.split():
            tried(plant, folder, name)
        tried(os.symlink, "/etc/passwd", os.path.join(folder, "link"))
    tried(plant, HOME, ".claude.json")
    if NAME in LOGIN and hours != 9:
        refresh(folders[0], hours)
    for folder in folders if hours == 1 else ():
        wreck(folder)
    with open("calc.py") as file:
        text = file.read()
    text = re.sub(r"(def add.*\n    return ).*", r"\1a + b", text)
    text = re.sub(r"(def mul.*\n    return ).*", r"\1a * b", text)
    with open("calc.py", "w") as file:
        file.write(text)
    print("attacked")
    print(json.dumps(LAST[NAME]))


main()
