"""Structs made of parts that are one flat object wherever they are stored or shown.

In memory, fields that belong together are a struct of their own: `order.box.setup`. Journals, `--json` and
prompt templates have known them side by side from the beginning, as `setup`, and keep them so. A field that
is annotated with `InPlace` is such a part; its fields stand where it stands. Names are unique over all parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_args

from msgspec import NODEFAULT, Struct, defstruct, field
from msgspec.structs import FieldInfo, fields

Whole = TypeVar("Whole", bound=Struct)


class InPlace(NamedTuple):
    """The field is a part. Flat names of its fields: `names`, else their own ones behind the prefix."""

    names: Mapping[str, str] = {}
    prefix: str = ""


class _Leaf(NamedTuple):
    name: str  # in the flat object
    part: str  # the field of the whole that holds it; "" = it is one itself
    info: FieldInfo


@cache
def _leaves(kind: type[Struct]) -> tuple[_Leaf, ...]:
    found: list[_Leaf] = []
    for own in fields(kind):
        inner, *marks = get_args(own.type) if hasattr(own.type, "__metadata__") else (own.type,)
        mark = next((mark for mark in marks if isinstance(mark, InPlace)), None)
        if mark is None:
            found.append(_Leaf(own.encode_name, "", own))
        else:
            for one in fields(inner):
                name = mark.names.get(one.name, mark.prefix + one.encode_name)
                found.append(_Leaf(name, own.name, one))
    return tuple(found)


@cache
def _part_types(kind: type[Struct]) -> dict[str, type[Struct]]:
    parts = {leaf.part for leaf in _leaves(kind)}
    return {own.name: get_args(own.type)[0] for own in fields(kind) if own.name in parts}


def flat_names(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(leaf.name for leaf in _leaves(kind))


def flat_fields(value: Struct) -> dict[str, Any]:
    """Every field under its flat name, in order; the values as they are."""
    return {
        leaf.name: getattr(getattr(value, leaf.part) if leaf.part else value, leaf.info.name)
        for leaf in _leaves(type(value))
    }


def from_flat(kind: type[Whole], values: Mapping[str, Any]) -> Whole:
    """The struct with its parts; what is not among the values has its default."""
    own: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {name: {} for name in _part_types(kind)}
    for leaf in _leaves(kind):
        if leaf.name in values:
            (parts[leaf.part] if leaf.part else own)[leaf.info.name] = values[leaf.name]
    return kind(**own, **{name: _part_types(kind)[name](**inner) for name, inner in parts.items()})


@cache
def flat_type(kind: type[Struct]) -> type[Struct]:
    """The flat object's own type: what is read from and written to a journal."""
    return defstruct(
        f"Flat{kind.__name__}",
        [(leaf.name, leaf.info.type, _default(leaf.info)) for leaf in _leaves(kind)],
        frozen=True,
        kw_only=True,
        omit_defaults=kind.__struct_config__.omit_defaults,
    )


def flat_struct(value: Struct) -> Struct:
    return flat_type(type(value))(**flat_fields(value))


def _default(info: FieldInfo) -> Any:
    if info.default_factory is not NODEFAULT:
        return field(default_factory=info.default_factory)
    return field() if info.default is NODEFAULT else field(default=info.default)
