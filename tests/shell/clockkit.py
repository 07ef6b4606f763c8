"""A clock that a test writes: it stands still but for its sleeps, and can call somebody on the way."""

from collections.abc import Callable


class ScriptedClock:
    """`at` = what happens when so many seconds have been slept, each once, in the midst of that sleep."""

    def __init__(self, start: float = 1_700_000_000.0, at: dict[float, Callable[[], None]] | None = None):
        self.start, self.slept, self.sleeps = start, 0.0, 0
        self._at = dict(sorted((at or {}).items()))

    def now(self) -> float:
        return self.start + self.slept

    def monotonic(self) -> float:
        return self.slept

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.sleeps += 1
        for moment in [moment for moment in self._at if moment <= self.slept]:
            self._at.pop(moment)()
