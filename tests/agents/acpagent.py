"""A scripted agent that speaks the Agent Client Protocol: a program of its own, for tests of the bridge.

    python acpagent.py SCRIPT.json

SCRIPT holds, for each method of the protocol, what happens when it is asked: a list of
{"raw": text} · {"fill": bytes} · {"update": {…}} · {"ask": method, "params": {…}} (waits for the answer)
· {"answer": result} · {"error": {…}} · {"number": id} (for the next answer) · {"err": text} · {"die": code}
· {"hang": true}. Where it may write, what it hears goes to SCRIPT.json.heard, its pid to SCRIPT.json.pid.
"""

import json
import os
import sys
import time

GOOD = {
    "initialize": [{"answer": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}}],
    "session/new": [{"answer": {"sessionId": "s-1"}}],
    "session/load": [{"answer": {}}],
    "session/set_model": [{"answer": {}}],
    "authenticate": [{"answer": {}}],
    "session/prompt": [{"answer": {"stopReason": "end_turn"}}],
    "session/cancel": [],
}


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Talk:
    def __init__(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            self.script = GOOD | json.load(file)
        writable = os.access(os.path.dirname(path), os.W_OK)  # not in a box
        self.heard = open(f"{path}.heard" if writable else os.devnull, "w", encoding="utf-8")
        if writable:
            with open(f"{path}.pid", "w", encoding="utf-8") as file:
                file.write(str(os.getpid()))

    def hear(self) -> dict:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        self.heard.write(line)
        self.heard.flush()
        return json.loads(line)

    def play(self, message: dict) -> None:
        number = message.get("id")
        for step in self.script[message["method"]]:
            if "update" in step:
                session = step.get("session", message["params"].get("sessionId", "s-1"))
                params = {"sessionId": session, "update": step["update"]}
                say(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}))
            elif "ask" in step:
                say(
                    json.dumps({"jsonrpc": "2.0", "id": "q", "method": step["ask"], "params": step["params"]})
                )
                self.hear()
            elif "answer" in step:
                say(json.dumps({"jsonrpc": "2.0", "id": number, "result": step["answer"]}))
            elif "error" in step:
                say(json.dumps({"jsonrpc": "2.0", "id": number, "error": step["error"]}))
            elif "number" in step:
                say(json.dumps({"jsonrpc": "2.0", "id": step["number"], "result": {"stopReason": "refusal"}}))
            elif "raw" in step:
                say(step["raw"])
            elif "fill" in step:
                say('{"jsonrpc":"2.0","method":"session/update","x":"' + "x" * step["fill"] + '"}')
            elif "err" in step:
                sys.stderr.write(step["err"] + "\n")
                sys.stderr.flush()
            elif "die" in step:
                os._exit(step["die"])
            elif "hang" in step:
                time.sleep(600)


def main() -> None:
    talk = Talk(sys.argv[1])
    while True:
        message = talk.hear()
        if "method" in message:
            talk.play(message)


if __name__ == "__main__":
    main()
