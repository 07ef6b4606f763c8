"""The scripted model server as a program.

    python tests/models/server.py --script FILE --port 0 --ready FILE --record DIR

It binds loopback only, tells its port in the ready file, and ends by itself: when its parent dies, or after
its lifetime. It must be started in the network namespace of its client, where there is one.
"""

import argparse
import json
import os
import sys
import threading
import time

from modelserver.listener import HOST, Server
from modelserver.record import Recorder
from modelserver.script import Place, ScriptError, load


def tell_ready(path: str, port: int) -> None:
    """Whole or not at all: a reader that sees the file can use it."""
    draft = f"{path}.{os.getpid()}"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump({"port": port, "pid": os.getpid(), "url": f"http://{HOST}:{port}"}, file)
    os.rename(draft, path)


def watch(parent: int, lifetime: float) -> None:
    """End the process when nobody needs it any more. Never returns."""
    end = time.monotonic() + lifetime
    while os.getppid() == parent and time.monotonic() < end:
        time.sleep(0.2)
    os._exit(0)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="server.py", description=__doc__)
    parser.add_argument("--script", required=True, help="JSON or TOML: what the model does")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ready", help="file that is written when the server listens")
    parser.add_argument("--record", help="folder for requests.jsonl")
    parser.add_argument("--lifetime", type=float, default=600.0, help="seconds until it ends by itself")
    wanted = parser.parse_args(argv)
    parent = os.getppid()
    try:
        place = Place(load(wanted.script))
    except (ScriptError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    server = Server(wanted.port, place, Recorder(wanted.record))
    threading.Thread(target=watch, args=(parent, wanted.lifetime), daemon=True).start()
    if wanted.ready:
        tell_ready(wanted.ready, server.port)
    else:
        print(server.port, flush=True)
    try:
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
