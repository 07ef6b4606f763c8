"""What of a loop may be told to others: no place on the user's machine, no secret, no hidden check.

Places become words such as {{home}} and come back as the places of whoever checks. A gate whose command
holds a secret, or that agents must not see, is withheld: named, and committed to by its hash.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ralph.core.model.gate import Gate
from ralph.core.text.clean import redact

_INSIDE = r"[\w.-]"  # characters that make a longer name of a path, and so another path
_OWN = ("sha256", "withheld")  # what an entry says of a gate beyond the gate's own fields
# Ids, hashes and names by which parts refer to each other: never foreign text, so never changed.
_EXACT = frozenset(
    {"_type", "predicateType", "gitTree", "gitCommit", "name", "gate", "guard", "loop", "tree", "commit"}
    | {"status", "sha256", "evidence", "reading", "inventory", "digest", "config", "started", "finished"}
)
_FOREIGN = ("env", "waivers", "quarantine")  # tables whose keys are the user's own words


def gate_entry(gate: Gate, places: Mapping[str, str], secrets: tuple[str, ...] = ()) -> dict[str, Any]:
    """A sealed gate as the statement names it; withheld, it is committed to and not disclosed."""
    fields = msgspec.to_builtins(msgspec.structs.asdict(gate))
    fields["tool"] = gate.tool.rpartition("/")[2]
    if not gate.exit_parts:  # statements from before it was known digest the same gate without it
        del fields["exit_parts"]
    fields = _hide_paths(fields, places)
    digest = sha256(msgspec.json.encode(fields, order="deterministic"))
    withheld = "hidden" if gate.hidden else "secret" if _redacted(fields, secrets) != fields else ""
    if withheld:
        kept = ("name", "proof", "required", "read", "origin")
        fields = {key: value for key, value in fields.items() if key in kept}
    return {**fields, "sha256": digest, "withheld": withheld}


def gate_of(entry: Mapping[str, Any], places: Mapping[str, str]) -> Gate:
    """The gate of an entry that was not withheld, on a machine with these places; its tool is looked up anew.

    Raises msgspec.ValidationError for fields that no gate has.
    """
    fields = {key: _back(value, places) for key, value in entry.items() if key not in _OWN}
    unknown = set(fields) - {field.name for field in msgspec.structs.fields(Gate)}
    if unknown:  # a gate with a rule that this Ralph does not know would be judged by other rules
        raise msgspec.ValidationError(f"a gate has a field this version does not know: {min(unknown)}")
    gate = msgspec.convert(fields, Gate)
    return msgspec.structs.replace(gate, tool="", tool_sha="")


def matches_redacted(told: str, real: str) -> bool:
    """Is this the text that was told, with some machine's places where it says {{home}} and the like?"""
    parts = re.split(r"\{\{[a-z]+\}\}", told)
    return re.fullmatch("/.*".join(map(re.escape, parts)), real, re.DOTALL) is not None


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def redact_data(value: Any, places: Mapping[str, str], secrets: tuple[str, ...]) -> Any:
    """Plain data with every text in it fit to be told."""
    return _redacted(_hide_paths(value, places), secrets)


def _redacted(value: Any, secrets: tuple[str, ...]) -> Any:
    return _each(value, lambda text: redact(text, secrets))


def _hide_paths(value: Any, places: Mapping[str, str]) -> Any:
    """Every path of the user's machine as a word: the longest first, whole names only."""
    known = sorted(((path, name) for name, path in places.items() if len(path) > 1), key=lambda p: -len(p[0]))
    patterns = [
        (re.compile(rf"(?<!{_INSIDE}){re.escape(path)}(?!{_INSIDE})"), f"{{{{{name}}}}}")
        for path, name in known
    ]

    def hide(text: str) -> str:
        for pattern, word in patterns:
            text = pattern.sub(lambda _, word=word: word, text)  # type: ignore[misc]
        return text

    return _each(value, hide)


def _back(value: Any, places: Mapping[str, str]) -> Any:
    def real(text: str) -> str:
        for name, path in places.items():
            text = text.replace(f"{{{{{name}}}}}", path)
        return text

    return _each(value, real)


def _each(value: Any, change: Callable[[str], str], exact: frozenset[str] = _EXACT) -> Any:
    """The same shape with every text in it changed, but for the exact ones."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {
            change(key): inner
            if key in exact and isinstance(inner, str)
            else _each(inner, change, frozenset() if key in _FOREIGN else exact)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_each(inner, change, exact) for inner in value]
    return value
