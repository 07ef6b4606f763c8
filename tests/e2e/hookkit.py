"""A receiver of webhooks on loopback, as a user would have one: it keeps what came, and checks signatures."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer


class Receiver:
    def __init__(self, secret: str) -> None:
        self.got: list[dict] = []
        self.forged: list[str] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                given = dict(part.split("=") for part in self.headers["X-Ralph-Signature"].split(","))
                signed = f"{given['t']}.".encode() + body
                right = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
                if hmac.compare_digest(right, given["v1"]):
                    receiver.got.append(json.loads(body))
                else:
                    receiver.forged.append(self.headers["X-Ralph-Signature"])
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/hook"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
