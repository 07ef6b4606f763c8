"""For tests: start the scripted model server, and read what it was asked."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("server.py")


@dataclass(frozen=True)
class Model:
    url: str
    port: int
    pid: int
    folder: Path

    def facts(self) -> list[dict[str, Any]]:
        """Every line of the record: requests, and clients that went away."""
        path = self.folder / "requests.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def requests(self, lane: str | None = None) -> list[dict[str, Any]]:
        return [fact for fact in self.facts() if "lane" in fact and lane in {None, fact["lane"]}]


@contextlib.contextmanager
def serving(folder: Path, script: Any, lifetime: float = 120.0, port: int = 0) -> Iterator[Model]:
    """The server, as its own process, for as long as the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    path, ready = folder / "script.json", folder / "ready.json"
    path.write_text(json.dumps(script))
    # Without site: the server needs the standard library only, and starts sooner.
    argv = [sys.executable, "-S", str(SERVER), "--script", str(path), "--port", str(port)]
    argv += ["--ready", str(ready), "--record", str(folder), "--lifetime", str(lifetime)]
    process = subprocess.Popen(argv)
    try:
        while not ready.exists():
            if process.poll() is not None:
                raise RuntimeError(f"the scripted model server ended with {process.returncode}")
            time.sleep(0.01)
        told = json.loads(ready.read_text())
        yield Model(told["url"], told["port"], told["pid"], folder)
    finally:
        process.kill()
        process.wait()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(ready)
