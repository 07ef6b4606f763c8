"""YAML of strangers as plain values that know their lines.

The text is first read as events, which need no recursion, to see how deep and how large it is and that it
holds no aliases in numbers; only then are nodes made of it. No tag is ever given a meaning.
"""

from __future__ import annotations

from typing import Any, Self

MAX_DEPTH = 40
MAX_NODES = 20_000


class Unreadable(Exception):  # noqa: N818 (a value: the caller says that the file was not read)
    """The file is not YAML that we are willing to read; the text says why."""


class Mark(str):
    """A text of a YAML file with the line it stands on."""

    __slots__ = ("line",)
    line: int

    def __new__(cls, text: str, line: int) -> Self:
        made = super().__new__(cls, text)
        made.line = line
        return made


def load(text: str) -> Any:
    """Dictionaries, lists and `Mark`s; every scalar is text. Only the first document counts."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _measure(yaml, text, loader)
        node = next(iter(yaml.compose_all(text, Loader=loader)), None)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Unreadable(str(error).splitlines()[0][:120]) from error
    return _plain(yaml, node, [MAX_NODES]) if node is not None else None


def _measure(yaml: Any, text: str, loader: Any) -> None:
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=loader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH or count > MAX_NODES:
            raise Unreadable("it nests too deep" if depth > MAX_DEPTH else "it is too large")


def _plain(yaml: Any, node: Any, room: list[int]) -> Any:
    """Aliases are followed like copies, so what they amount to is counted."""
    room[0] -= 1
    if room[0] < 0:
        raise Unreadable("its aliases amount to too much")
    if isinstance(node, yaml.MappingNode):
        return {
            str(key.value): _plain(yaml, value, room)
            for key, value in node.value
            if isinstance(key, yaml.ScalarNode)
        }
    if isinstance(node, yaml.SequenceNode):
        return [_plain(yaml, value, room) for value in node.value]
    line = node.start_mark.line + 1
    return Mark(str(node.value), line + 1 if node.style in ("|", ">") else line)
