"""The script: what the model will do, in intents. Reading it, checking it, and where each lane stands."""

import json
import threading
import tomllib
from dataclasses import dataclass, field, replace
from typing import Any

from modelserver.talk import Json, Usage

INTENTS = ("say", "think", "write", "edit", "read", "bash", "tool", "tools")
FAULTS = ("error", "stall", "cut", "midstream")
MANNERS = ("pace", "usage", "stop", "times", "hold")
FOREVER = -1


class ScriptError(Exception):
    """The script does not say what to do; the text says where."""


@dataclass(frozen=True)
class Reply:
    """One answer to one request: intents, or a fault, and the manner of it."""

    intents: tuple[Json, ...] = ()
    say: str = ""
    think: str = ""
    error: Json | None = None
    stall: float | None = None
    cut: str = ""
    """"connect" (no byte at all), "headers" (nothing after them) or "body" (half of the stream)."""
    midstream: Json | None = None
    pace: float = 0.0
    hold: float = 0.0
    """Seconds of silence before the first byte."""
    usage: Usage | None = None
    stop: str = ""
    times: int = 1
    raw: Json = field(default_factory=dict)

    @property
    def faulty(self) -> bool:
        return (
            self.error is not None or self.stall is not None or bool(self.cut) or self.midstream is not None
        )


@dataclass(frozen=True)
class Script:
    talks: tuple[tuple[Reply, ...], ...]
    """Main lane: one list of replies for each conversation."""
    sub: tuple[Reply, ...]
    side: tuple[Json, ...]
    """Canned answers for side requests: [{match, say}], first match wins."""
    usage: Usage
    over: Reply
    """What is answered when the script is used up."""


def _usage(value: Any, where: str) -> Usage:
    if not isinstance(value, dict) or not all(isinstance(item, int) for item in value.values()):
        raise ScriptError(f"{where}: usage is a table of numbers, seen {value!r}")
    try:
        return Usage(**value)
    except TypeError:
        raise ScriptError(f"{where}: usage knows input, output, cached, reasoning; seen {value!r}") from None


def reply(raw: Any, where: str = "reply") -> Reply:
    """One reply from its JSON; an unknown word is an error, because a typo would silently change a test."""
    if not isinstance(raw, dict):
        raise ScriptError(f"{where}: a reply is a table, seen {raw!r}")
    unknown = sorted(set(raw) - {*INTENTS, *FAULTS, *MANNERS})
    if unknown:
        known = ", ".join((*INTENTS, *FAULTS, *MANNERS))
        raise ScriptError(f"{where}: unknown word {unknown[0]!r}; known are {known}")
    intents = [{key: raw[key]} for key in ("write", "edit", "read", "bash", "tool") if key in raw]
    for index, item in enumerate(raw.get("tools", [])):
        if not isinstance(item, dict) or len(item) != 1:
            raise ScriptError(f"{where}: tools[{index}] is one intent, seen {item!r}")
        intents.append(item)
    for item in intents:
        _check_intent(item, where)
    if raw.get("cut", "") not in {"", "connect", "headers", "body"}:
        raise ScriptError(f"{where}: cut is connect, headers or body, seen {raw['cut']!r}")
    if not (intents or raw.get("say") or any(fault in raw for fault in FAULTS)):
        raise ScriptError(f"{where}: nothing to do in {raw!r}")
    return Reply(
        intents=tuple(intents),
        say=str(raw.get("say", "")),
        think=str(raw.get("think", "")),
        error=_error(raw["error"], where) if "error" in raw else None,
        stall=float(raw["stall"]) if "stall" in raw else None,
        cut=str(raw.get("cut", "")),
        midstream=_error(raw["midstream"], where) if "midstream" in raw else None,
        pace=float(raw.get("pace", 0)),
        hold=float(raw.get("hold", 0)),
        usage=_usage(raw["usage"], where) if "usage" in raw else None,
        stop=str(raw.get("stop", "")),
        times=FOREVER if raw.get("times") == "forever" else int(raw.get("times", 1)),
        raw=raw,
    )


def _check_intent(item: Json, where: str) -> None:
    [(kind, value)] = item.items()
    wanted = {
        "write": ("path", "text"),
        "edit": ("path", "old", "new"),
        "read": ("path",),
        "tool": ("name", "input"),
    }
    if kind == "bash":
        if not isinstance(value, str):
            raise ScriptError(f"{where}: bash is a command line, seen {value!r}")
        return
    if kind not in wanted:
        raise ScriptError(f"{where}: unknown intent {kind!r}")
    if not isinstance(value, dict) or set(value) != set(wanted[kind]):
        raise ScriptError(f"{where}: {kind} needs {', '.join(wanted[kind])}, seen {value!r}")


def _error(value: Any, where: str) -> Json:
    if isinstance(value, int):
        value = {"status": value}
    if not isinstance(value, dict) or not isinstance(value.get("status"), int):
        raise ScriptError(f"{where}: an error has a status, seen {value!r}")
    unknown = set(value) - {"status", "headers", "type", "code", "message", "extra"}
    if unknown:
        raise ScriptError(f"{where}: unknown word {min(unknown)!r} in an error")
    return value


def parse(document: Any) -> Script:
    """A whole script. `replies` is one conversation after another without a border; `talks` has borders."""
    if not isinstance(document, dict):
        raise ScriptError("the script is a table with `replies` or `talks`")
    unknown = set(document) - {"replies", "talks", "sub", "side", "usage", "over"}
    if unknown:
        raise ScriptError(f"unknown word {min(unknown)!r} in the script")
    if ("replies" in document) == ("talks" in document):
        raise ScriptError("the script has either `replies` or `talks`")
    talks = document["talks"] if "talks" in document else [document["replies"]]
    # TOML has no list of lists of tables that reads well, so a talk may also be {replies = [...]}.
    lists = [talk["replies"] if isinstance(talk, dict) else talk for talk in talks]
    return Script(
        talks=tuple(
            tuple(reply(raw, f"talk {t + 1}, reply {r + 1}") for r, raw in enumerate(one))
            for t, one in enumerate(lists)
        ),
        sub=tuple(reply(raw, f"sub, reply {r + 1}") for r, raw in enumerate(document.get("sub", []))),
        side=tuple(document.get("side", [])),
        usage=_usage(document.get("usage", {}), "script"),
        over=reply(document.get("over", {"say": "Nothing is left to do."}), "over"),
    )


def load(path: str) -> Script:
    with open(path, "rb") as file:
        data = file.read()
    try:
        return parse(tomllib.loads(data.decode()) if path.endswith(".toml") else json.loads(data))
    except (ValueError, UnicodeDecodeError) as error:
        raise ScriptError(f"{path}: {error}") from None


class Place:
    """Where the script stands. One lock: clients ask from several connections at once."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._lock = threading.Lock()
        self._talk = 0
        self._answered = False
        self._at = 0
        self._used = 0
        self._subs: dict[str, int] = {}

    def next_main(self, begun: bool) -> tuple[Reply, str]:
        """The next reply and its name. A new conversation goes on to the next talk, unless nothing was
        answered in this one yet: then it is the same conversation, tried again after a fault."""
        with self._lock:
            return self._take(begun)

    def next_talk(self, begun: bool) -> tuple[Reply, str]:
        """All that is left of the conversation up to the next fault, for clients that ask only once.

        Looking and running are left out: such a client has no tool for them."""
        with self._lock:
            first, name = self._take(begun)
            if first.faulty or name == "over":
                return first, name
            taken = [first]
            while (reply := self._here()) and not reply.faulty:
                taken.append(self._take(begun=True)[0])
            intents = [item for reply in taken for item in reply.intents if {"write", "edit"} & set(item)]
            text = "\n".join(reply.say for reply in taken if reply.say)
            return replace(first, intents=tuple(intents), say=text), name

    def _here(self) -> Reply | None:
        talks = self.script.talks
        if self._talk >= len(talks) or self._at >= len(talks[self._talk]):
            return None
        return talks[self._talk][self._at]

    def _take(self, begun: bool) -> tuple[Reply, str]:
        if not begun and self._answered and len(self.script.talks) > 1:
            self._talk, self._at, self._used, self._answered = self._talk + 1, 0, 0, False
        chosen = self._here()
        if chosen is None:
            return self.script.over, "over"
        name = f"{self._talk + 1}.{self._at + 1}"
        self._used += 1
        if chosen.times != FOREVER and self._used >= chosen.times:
            self._at, self._used = self._at + 1, 0
        self._answered = self._answered or not chosen.faulty
        return chosen, name

    def next_sub(self, agent: str) -> tuple[Reply, str]:
        """Each sub-agent walks the sub lane by itself."""
        with self._lock:
            at = self._subs.get(agent, 0)
            self._subs[agent] = at + 1
            if at >= len(self.script.sub):
                return self.script.over, "over"
            return self.script.sub[at], f"sub.{at + 1}"
