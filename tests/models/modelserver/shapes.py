"""The smallest value that fits a JSON schema: for arguments a tool insists on, and answers in JSON."""

from typing import Any

from modelserver.talk import Json


def fill(schema: Any, hint: str = "scripted") -> Any:
    """Required fields only; the first choice of an enum; `hint` for free text."""
    if not isinstance(schema, dict):
        return hint
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for word in ("anyOf", "oneOf", "allOf"):
        if schema.get(word):
            return fill(schema[word][0], hint)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = kind[0]
    kind = str(kind).lower()
    if kind == "object":
        return fill_object(schema, hint)
    if kind == "array":
        return [fill(schema.get("items"), hint)] if schema.get("minItems") else []
    plain = {
        "integer": int(schema.get("minimum", 1)),
        "number": float(schema.get("minimum", 1)),
        "boolean": False,
    }
    return plain.get(kind, None if kind == "null" else hint)


def fill_object(schema: Json, hint: str = "scripted") -> Json:
    properties = schema.get("properties") or {}
    return {name: fill(properties.get(name), hint) for name in schema.get("required", [])}
