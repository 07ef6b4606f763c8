"""Every request as one line of JSON, written before it is answered: a stalled client is seen as well."""

import json
import os
import threading
import time

from modelserver.talk import Json


class Recorder:
    def __init__(self, folder: str | None) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._start = time.monotonic()
        self._file = -1
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, "requests.jsonl")
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def number(self) -> int:
        with self._lock:
            self._count += 1
            return self._count

    def write(self, fact: Json) -> None:
        if self._file < 0:
            return
        line = json.dumps({"at": round(time.monotonic() - self._start, 4), **fact}) + "\n"
        with self._lock:
            os.write(self._file, line.encode())
