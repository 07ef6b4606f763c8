"""What is wrong with the fields of a JSON object, by the type that it should have: all of it, with places.

The types are the format: the JSON Schemas that `ralph backlog schema` prints are made from the same ones.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import msgspec
from msgspec import Struct, structs

_PLACE = re.compile(r" - at `\$(.*)`$", re.DOTALL)


class WrongField(NamedTuple):
    pointer: str
    message: str


def check_fields(kind: type[Struct], raw: dict[str, Any], at: str) -> tuple[dict[str, Any], list[WrongField]]:
    """The fields that are as they should be, and what is wrong with the others. Null is a field left out."""
    good: dict[str, Any] = {}
    wrong: list[WrongField] = []
    known = structs.fields(kind)
    if kind.__struct_config__.forbid_unknown_fields:
        names = ", ".join(one.encode_name for one in known)
        extra = raw.keys() - {one.encode_name for one in known}
        wrong += [WrongField(f"{at}/{key}", f"'{key[:60]}' is none of {names}") for key in sorted(extra)]
    for field in known:
        name, value, place = field.encode_name, raw.get(field.encode_name), f"{at}/{field.encode_name}"
        kind = get_args(field.type)[0] if get_origin(field.type) is Annotated else field.type
        part = next((one for one in get_args(kind) or (kind,) if _is_struct(one)), None)
        if value is None:
            wrong += [WrongField(place, "is required")] if field.required else []
        elif get_origin(kind) is tuple and isinstance(value, list):
            kept: list[Any] = []
            before = len(wrong)
            for number, one in enumerate(value):
                _take(kept.append, one, get_args(kind)[0], f"{place}/{number}", wrong)
            good[name] = kept
            if len(wrong) == before:
                _take(lambda _: None, kept, field.type, place, wrong)
        elif part is not None and isinstance(value, dict):
            inner, more = check_fields(part, value, place)
            wrong += more
            if not any(one.required and one.encode_name not in inner for one in structs.fields(part)):
                good[name] = inner
        else:
            _take(partial(good.__setitem__, name), value, field.type, place, wrong)
    return good, wrong


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _take(keep: Any, value: Any, kind: Any, at: str, wrong: list[WrongField]) -> None:
    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        text = str(error).replace(r"`str` matching regex '\\S'", "text that is not empty")
        found = _PLACE.search(text)
        seen = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}…"
        inside = re.sub(r"[.\[]", "/", found[1]).replace("]", "") if found else ""
        wrong.append(WrongField(at + inside, f"{_PLACE.sub('', text)}, found {seen}"))
    else:
        keep(value)


def json_schema(kind: type[Struct], title: str) -> dict[str, Any]:
    """The JSON Schema of a type."""
    (made,), parts = msgspec.json.schema_components((kind,), ref_template="#/$defs/{name}")
    for part in parts.values():
        for one in part.get("properties", {}).values():
            one.pop("default", None)
    own = parts.pop(made["$ref"].rpartition("/")[2])
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**head, **own, "title": title} | ({"$defs": parts} if parts else {})
