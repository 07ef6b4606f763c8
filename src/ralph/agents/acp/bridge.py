"""The bridge itself: between Ralph, which reads lines, and an agent that speaks the Agent Client Protocol.

Run as `python -I -S bridge.py ORDER.json PROGRAM [ARGUMENT…]` in the workspace, in the box of the agent,
the prompt on stdin; it imports nothing of Ralph. It opens a conversation or loads one, hands the prompt over,
answers what the agent asks of its client, and prints a JSON line for each thing that happens (`updates`).

    session, acp.KIND     the conversation stands; an update of the agent, as it came
    permission, file      what it asked for, and whether it was allowed
    stop, or why there is none: error, gone, silent, version, unstarted, stopped
"""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import subprocess
import sys
import time
from typing import Any

PROTOCOL = 1
MAX_MESSAGE_BYTES = 16 << 20  # bytes of one message; a longer one is dropped, and said so
MAX_LINE_CHARS = 900_000  # of what is printed: Ralph takes no more than a megabyte
MAX_FILE_BYTES = 32 << 20
MAX_SHOWN = 2000
GRACE_SECONDS = (
    1.0  # seconds for an agent to obey: the box is taken away two seconds after a stop was asked for
)
EXIT_SECONDS = 3.0  # seconds for an agent to put its things away when all is done
NOT_FOUND, NO_METHOD, REFUSED = -32002, -32601, -32603
HARMLESS = ("read", "search", "think", "edit")  # kinds of tools that need no box while they stay inside

Fields = dict[str, Any]


class NoAnswerError(Exception):
    """The call is over without an answer; holds the line that says why."""

    def __init__(self, kind: str, **fields: Any) -> None:
        super().__init__(kind)
        self.line = {"type": kind, **fields}


class RefusalError(Exception):
    """What the agent asked for was not done: the protocol's code, and words."""


def print_line(line: str) -> None:
    sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


def emit(line: Fields) -> None:
    told = json.dumps(line)
    print_line(told if len(told) <= MAX_LINE_CHARS else json.dumps(_cut(line, len(told))))


def _cut(line: Fields, size: int) -> Fields:
    """A line that is too long, with what tells most of it."""
    update = _table(line.get("update"))
    kept, words = _short(update), _table(update.get("content")).get("text")
    if isinstance(words, str):
        kept["content"] = {"type": "text", "text": words[-100_000:]}
    return {**_short(line), "update": kept, "cut": size}


def _short(fields: Fields) -> Fields:
    return {key: value for key, value in fields.items() if len(str(value)) < MAX_SHOWN}


def _table(value: object) -> Fields:
    return value if isinstance(value, dict) else {}


def _rows(value: object) -> list[Fields]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _told(call: Fields) -> Fields:
    """Of a tool's call or update, what tells whether it may be."""
    return {key: call[key] for key in ("kind", "title", "locations", "content") if call.get(key)}


class AgentConnection:
    """The agent's process and its pipes; nothing here blocks, or both sides could wait for each other."""

    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        files = (self.process.stdin, self.process.stdout, self.process.stderr)
        self.stdin, self.stdout, self.stderr = (file.fileno() for file in files if file is not None)
        os.set_blocking(self.stdin, False)
        self.unsent = bytearray()
        self.unread = bytearray()
        self.skipping = False  # inside a message that is too long
        self.open = {self.stdout, self.stderr}

    def send(self, message: Fields) -> None:
        self.unsent += json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"

    def lines(self, seconds: float | None) -> list[bytes]:
        """What came within this time: whole lines of its stdout. Its stderr is passed on as it is."""
        writing = [self.stdin] if self.unsent else []
        ready, writable, _ = select.select(list(self.open), writing, [], seconds)
        if writable:
            self._write()
        if self.stderr in ready:
            self._words()
        return self._messages() if self.stdout in ready else []

    def _write(self) -> None:
        try:
            sent = os.write(self.stdin, self.unsent[: 1 << 16])
            del self.unsent[:sent]
        except BlockingIOError:
            pass
        except OSError:  # it is gone: the end of its output will tell
            self.unsent.clear()

    def _words(self) -> None:
        data = os.read(self.stderr, 1 << 16)
        if not data:
            self.open.discard(self.stderr)
        for line in data.decode("utf-8", "replace").splitlines():
            print_line(f"| {line[:MAX_SHOWN]}")  # a mark in front: no line of it can look like one of ours

    def _messages(self) -> list[bytes]:
        data = os.read(self.stdout, 1 << 16)
        if not data:
            self.open.discard(self.stdout)
            return []
        self.unread += data
        if b"\n" not in data:
            if len(self.unread) > MAX_MESSAGE_BYTES:
                self.unread.clear()
                self.skipping = True
            return []
        *whole, rest = bytes(self.unread).split(b"\n")
        self.unread = bytearray(rest)
        if self.skipping:
            self.skipping = False
            whole = whole[1:]
            print_line(f"~ a message of more than {MAX_MESSAGE_BYTES} bytes was dropped")
        return [line for line in whole if line.strip()]

    def end(self, patience: float) -> int | None:
        """Gone on return: asked by the end of its input, then by signals."""
        process = self.process
        assert process.stdin is not None
        process.stdin.close()
        self.unsent.clear()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                process.send_signal(number)
                patience = GRACE_SECONDS / 2
            until = time.monotonic() + patience
            while process.poll() is None and (number == signal.SIGKILL or time.monotonic() < until):
                self.lines(0.02)
            if process.poll() is not None:
                break
        return process.returncode


class Bridge:
    def __init__(self, order: Fields, agent: AgentConnection) -> None:
        self.order, self.agent = order, agent
        self.top = os.path.realpath(order["workspace"])
        self.stage = "start"
        self.session = ""
        self.muted = False  # a loaded conversation is told again: nothing of it is new
        self.tools: dict[str, Fields] = {}
        self.number = 0
        self.answer: Fields | None = None

    def drive(self, prompt: str) -> int:
        """The whole call; what is printed last says how it ended."""
        signal.signal(signal.SIGTERM, self._stop_on_signal)
        try:
            answer = self._converse(prompt)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        except NoAnswerError as end:
            stopped = end.line["type"] == "stopped"
            if stopped:
                self._cancel()
            emit({**end.line, "stage": self.stage, "exit": self.agent.end(GRACE_SECONDS / 2)})
            return 143 if stopped else 1
        told = {"reason": answer.get("stopReason"), "usage": answer.get("usage"), "meta": answer.get("_meta")}
        emit({"type": "stop", **told})
        self.agent.end(EXIT_SECONDS)
        return 0

    def _converse(self, prompt: str) -> Fields:
        order, patience = self.order, float(self.order["patience"])
        # Reading is answered but not offered: some do not know a missing file from such an answer.
        able = {"fs": {"readTextFile": False, "writeTextFile": True}, "terminal": False}
        who = {"name": "ralph", "title": "Ralph", "version": order["version"]}
        hello = self.ask(
            "initialize",
            {"protocolVersion": PROTOCOL, "clientCapabilities": able, "clientInfo": who},
            patience,
        )
        if hello.get("protocolVersion") != PROTOCOL:
            raise NoAnswerError("version", wanted=PROTOCOL, offered=hello.get("protocolVersion"))
        if order["auth"]:
            self.ask("authenticate", {"methodId": order["auth"]}, patience)
        loaded = self._open(_table(hello.get("agentCapabilities")), patience)
        about = _table(hello.get("agentInfo"))
        emit({"type": "session", "id": self.session, "loaded": loaded, "agent": about})
        if order["model"]:
            self.ask("session/set_model", {"sessionId": self.session, "modelId": order["model"]}, patience)
        words = [{"type": "text", "text": prompt}]
        return self.ask("session/prompt", {"sessionId": self.session, "prompt": words}, None)

    def _open(self, able: Fields, patience: float) -> bool:
        """A conversation to talk in: the one to go on with where that works, else a new one."""
        place = {"cwd": os.getcwd(), "mcpServers": []}
        before = self.order["session"]
        if before and able.get("loadSession") is True:
            self.session, self.muted = before, True
            try:
                self.ask("session/load", {"sessionId": before, **place}, patience)
                return True
            except NoAnswerError as end:
                if end.line["type"] != "error":
                    raise
                emit({"type": "unloaded", "id": before, "message": end.line["message"]})
            finally:
                self.muted = False
        made = self.ask("session/new", place, patience).get("sessionId")
        if not isinstance(made, str) or not made:
            raise NoAnswerError("error", code=0, message="session/new was answered without a sessionId")
        self.session = made
        return False

    def ask(self, method: str, params: Fields, patience: float | None) -> Fields:
        """One request, and everything that happens until it is answered."""
        agent, self.stage, self.answer = self.agent, method, None
        self.number += 1
        agent.send({"id": self.number, "method": method, "params": params})
        until = None if patience is None else time.monotonic() + patience
        while self.answer is None:
            if agent.stdout not in agent.open:
                raise NoAnswerError("gone")
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise NoAnswerError("silent", seconds=patience)
            for line in agent.lines(left):
                self._take(line)
        error = self.answer.get("error")
        if error is not None:
            told = _table(error)
            raise NoAnswerError(
                "error", code=told.get("code"), message=told.get("message"), data=told.get("data")
            )
        return _table(self.answer.get("result"))

    def _take(self, line: bytes) -> None:
        """One line of the agent: an answer, a request or a notice; anything else is passed on as words."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        known = _table(message)
        method, number = known.get("method"), known.get("id")
        if isinstance(method, str):
            params = _table(known.get("params"))
            if number is not None:
                self._serve(number, method, params)
            elif method == "session/update" and params.get("sessionId") == self.session:
                self._update(_table(params.get("update")))
            return
        mine = isinstance(number, int) and not isinstance(number, bool) and number == self.number
        if mine and self.answer is None and ("result" in known or "error" in known):
            self.answer = known
            return
        print_line(f"~ {line[:MAX_SHOWN].decode('utf-8', 'replace')}")

    def _update(self, update: Fields) -> None:
        kind, tool = update.get("sessionUpdate"), update.get("toolCallId")
        if isinstance(tool, str):  # what it will ask permission for may be told here only
            self.tools[tool[:MAX_SHOWN]] = {**self.tools.get(tool[:MAX_SHOWN], {}), **_told(update)}
        if isinstance(kind, str) and not self.muted:
            emit({"type": f"acp.{kind[:100]}", "update": update})

    def _serve(self, number: object, method: str, params: Fields) -> None:
        """What the agent asks of its client."""
        answers = {
            "session/request_permission": self._permission,
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
        }
        try:
            if method not in answers:
                raise RefusalError(NO_METHOD, f"Method not found: {method[:100]}")
            told: Fields = {"result": answers[method](params)}
        except RefusalError as error:
            told = {"error": {"code": error.args[0], "message": error.args[1]}}
        except (OSError, ValueError) as error:
            told = {"error": {"code": REFUSED, "message": str(error)}}
        self.agent.send({"id": number, **told})

    def _permission(self, params: Fields) -> Fields:
        call = _table(params.get("toolCall"))
        call = {**self.tools.get(str(call.get("toolCallId"))[:MAX_SHOWN], {}), **_told(call)}
        allowed = self.order["allow"] == "all" or self._harmless(call)
        wanted = ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always")
        offered = {option.get("kind"): option.get("optionId") for option in _rows(params.get("options"))}
        chosen = next((offered[kind] for kind in wanted if kind in offered), None)
        what = str(call.get("title") or "a tool")[:MAX_SHOWN]
        emit({"type": "permission", "allowed": allowed and chosen is not None, "what": what})
        if chosen is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    def _harmless(self, call: Fields) -> bool:
        """Without a box: reading and editing what it names, if all of that lies in the workspace."""
        rows = (*_rows(call.get("locations")), *_rows(call.get("content")))
        named = [row["path"] for row in rows if isinstance(row.get("path"), str)]
        kind = call.get("kind")
        return kind in HARMLESS and all(map(self._inside, named)) and (kind != "edit" or bool(named))

    def _inside(self, path: str) -> str:
        """The real path, if it is one of the workspace; else an empty one."""
        if not os.path.isabs(path) or "\0" in path:
            return ""
        real = os.path.realpath(path)
        return real if real == self.top or real.startswith(self.top.rstrip("/") + "/") else ""

    def _place(self, params: Fields, what: str) -> str:
        path = params.get("path")
        real = self._inside(path) if isinstance(path, str) else ""
        if not real:
            emit({"type": "file", "what": what, "path": str(path)[:MAX_SHOWN], "allowed": False})
            raise RefusalError(REFUSED, f"not allowed: {str(path)[:MAX_SHOWN]} is outside the workspace")
        return real

    def _read(self, params: Fields) -> Fields:
        path = self._place(params, "read")
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            raise RefusalError(NOT_FOUND, f"Resource not found: {path} (ENOENT: no such file)") from None
        with os.fdopen(handle, encoding="utf-8", newline="") as file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_FILE_BYTES:
                raise RefusalError(REFUSED, f"{path} is no file, or larger than {MAX_FILE_BYTES} bytes")
            text = file.read()
        first, most = params.get("line"), params.get("limit")
        begin = max(0, first - 1) if isinstance(first, int) else 0
        end = begin + most if isinstance(most, int) and most >= 0 else None
        return {"content": "".join(text.splitlines(keepends=True)[begin:end])}

    def _write(self, params: Fields) -> Fields:
        path, text = self._place(params, "write"), params.get("content")
        if not isinstance(text, str):
            raise RefusalError(-32602, "content is no text")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        emit({"type": "file", "what": "write", "path": path, "allowed": True})
        return {}

    def _stop_on_signal(self, _number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise NoAnswerError("stopped")

    def _cancel(self) -> None:
        """Tell the agent, and hear it out for a moment: its last updates are work too."""
        agent = self.agent
        if self.stage != "session/prompt":
            return
        agent.send({"method": "session/cancel", "params": {"sessionId": self.session}})
        until = time.monotonic() + GRACE_SECONDS / 2
        while self.answer is None and agent.stdout in agent.open and time.monotonic() < until:
            for line in agent.lines(0.05):
                self._take(line)


def main(argv: list[str]) -> int:
    with open(argv[1], encoding="utf-8") as file:
        order = json.load(file)
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        agent = AgentConnection(argv[2:])
    except (OSError, ValueError) as error:
        emit({"type": "unstarted", "message": f"{argv[2]}: {error}"})
        return 1
    try:
        return Bridge(order, agent).drive(prompt)
    finally:  # nothing of ours is known to raise, but then the agent must not stay behind
        if agent.process.poll() is None:
            agent.process.kill()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv))
