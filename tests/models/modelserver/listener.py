"""HTTP on loopback: a request meets its protocol, takes the next reply of its lane, gets it in its manner."""

import gzip
import json
import select
import socket
import time
import types
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from modelserver import lanes, resolve, wire_anthropic, wire_chat, wire_gemini, wire_responses
from modelserver.record import Recorder
from modelserver.script import Place, Reply
from modelserver.talk import Answer, Ask, Call, Json

HOST = "127.0.0.1"
MODELS = ("scripted", "gpt-5.5", "gpt-4.1", "gemini-2.5-pro", "claude-sonnet-4-5")


class Gone(Exception):
    """The client went away while it was kept waiting."""


def protocol_of(path: str) -> types.ModuleType | None:
    if path.endswith("/messages"):
        return wire_anthropic
    if path.endswith("/responses"):
        return wire_responses
    if path.endswith("/chat/completions"):
        return wire_chat
    if path.endswith((":generateContent", ":streamGenerateContent")):
        return wire_gemini
    return None


def answer_for(ask: Ask, reply: Reply, number: int, usage: Any) -> Answer:
    """The reply in terms of what this client offers."""
    say = reply.say
    calls: tuple[Call, ...] = ()
    if reply.intents and lanes.takes_text_edits(ask):
        say = "\n".join([say, *(resolve.fenced(intent) for intent in reply.intents)])
    else:
        calls = tuple(resolve.resolve(ask, intent) for intent in reply.intents)
    if say and not calls and lanes.ends_by_command(ask):
        calls = (resolve.bash(ask, f"echo {resolve.MINI_MARK}"),)
    return Answer(number, say, calls, reply.usage or usage, reply.stop, reply.think)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, place: Place, recorder: Recorder) -> None:
        super().__init__((HOST, port), Handler)
        self.place = place
        self.recorder = recorder

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that are killed in mid-request are part of the tests, not news."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "scripted"
    sys_version = ""
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """The record is the log."""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self._note({"lane": "other", "method": "GET", "path": self.path, "headers": self._headers()})
        if path.endswith("/models"):
            rows = [{"id": name, "object": "model", "created": 0, "owned_by": "scripted"} for name in MODELS]
            self._json(
                200, {"object": "list", "data": rows, "models": [{"name": f"models/{n}"} for n in MODELS]}
            )
        else:
            self._json(404, {"error": {"message": "not here", "type": "not_found", "code": 404}})

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        body = self._body()
        path = urlsplit(self.path).path
        wire = protocol_of(path)
        number = self.server.recorder.number()
        fact: Json = {
            "n": number,
            "method": "POST",
            "path": self.path,
            "headers": self._headers(),
            "body": body,
        }
        if wire is None or not isinstance(body, dict):
            self._note({**fact, "lane": "other"})
            self._json(200, {"input_tokens": 100, "totalTokens": 100})
            return
        ask: Ask = wire.read(path, self._headers(), body)
        lane = lanes.lane(ask)
        reply, name = self._choose(ask, lane)
        fact |= {"protocol": ask.protocol, "lane": lane, "reply": name, "intent": reply.raw}
        try:
            answer = answer_for(ask, reply, number, self.server.place.script.usage)
        except resolve.NoTool as error:
            self._note({**fact, "problem": str(error), "offered": [tool.name for tool in ask.tools]})
            self._json(500, wire.error({"status": 500, "message": f"scripted model: {error}"}))
            return
        calls = [{"name": call.tool.name, "arguments": call.arguments} for call in answer.calls]
        self._note({**fact, "calls": calls, "offered": [tool.name for tool in ask.tools], "cwd": ask.cwd})
        try:
            self._send(wire, ask, answer, reply)
        except (Gone, OSError):
            self._note({"n": number, "gone": True})
            self.close_connection = True

    def _choose(self, ask: Ask, lane: str) -> tuple[Reply, str]:
        place = self.server.place
        if lane == "main" and lanes.takes_text_edits(ask):
            return place.next_talk(ask.begun)
        if lane == "main":
            return place.next_main(ask.begun)
        if lane == "sub":
            return place.next_sub(ask.agent)
        return Reply(say=lanes.side_text(ask, place.script.side)), "side"

    def _send(self, wire: types.ModuleType, ask: Ask, answer: Answer, reply: Reply) -> None:
        self._wait(reply.hold)
        if reply.cut == "connect":
            self._drop()
            return
        if reply.error is not None:
            self._json(reply.error["status"], wire.error(reply.error), reply.error.get("headers", {}))
            return
        if not ask.stream:
            self._wait(reply.stall or 0)
            if reply.midstream is not None:
                self._json(reply.midstream["status"], wire.error(reply.midstream))
            elif reply.cut:
                self._drop()
            else:
                self._json(200, wire.whole(ask, answer))
            return
        self._stream(wire, wire.stream(ask, answer), reply)

    def _stream(self, wire: types.ModuleType, frames: list[bytes], reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("request-id", "req_scripted")
        self.end_headers()
        if reply.cut == "headers":
            self._drop()
            return
        half = max(1, len(frames) // 2)
        for at, frame in enumerate(frames):
            if at == half:
                if reply.stall is not None:
                    self._wait(reply.stall)
                if reply.cut == "body":
                    self._drop()
                    return
                if reply.midstream is not None:
                    self._chunk(wire.broken(reply.midstream))
                    break
            self._chunk(frame)
            self._wait(reply.pace)
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _wait(self, seconds: float) -> None:
        """Sleep, but see at once when the client closes; negative is for as long as the server lives."""
        end = time.monotonic() + seconds if seconds >= 0 else float("inf")
        while (left := end - time.monotonic()) > 0:
            readable, _, _ = select.select([self.connection], [], [], min(left, 0.5))
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise Gone
            if readable:
                time.sleep(min(left, 0.05))

    def _drop(self) -> None:
        """End the connection without an end of the message, as a broken line does."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def _headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def _note(self, fact: Json) -> None:
        self.server.recorder.write(fact)

    def _body(self) -> Any:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        packed = self.headers.get("Content-Encoding", "")
        if packed == "gzip":
            data = gzip.decompress(data)
        elif packed == "deflate":
            data = zlib.decompress(data)
        try:
            return json.loads(data)
        except ValueError:
            return data.decode(errors="replace")

    def _json(self, status: int, body: Json, headers: Json | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)
