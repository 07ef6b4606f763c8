"""The Gemini API: `models/NAME:generateContent` and `:streamGenerateContent`."""

import json
import re
from typing import Any

from modelserver.talk import Answer, Ask, Json, Tool, pieces

_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def _text(content: Any) -> str:
    parts = content.get("parts", []) if isinstance(content, dict) else content or []
    if isinstance(parts, dict):
        parts = [parts]
    return "\n".join(part if isinstance(part, str) else str(part.get("text", "")) for part in parts)


def read(path: str, headers: dict[str, str], body: Json) -> Ask:
    contents = body.get("contents", [])
    settings = body.get("generationConfig") or {}
    schema = settings.get("responseJsonSchema") or settings.get("responseSchema")
    if schema is None and settings.get("responseMimeType") == "application/json":
        schema = {"type": "object"}
    users = [_text(content) for content in contents if content.get("role", "user") == "user"]
    tools = [
        Tool(one["name"], "function", one.get("parametersJsonSchema") or one.get("parameters") or {})
        for group in body.get("tools") or []
        for one in group.get("functionDeclarations") or []
    ]
    name = re.search(r"models/([^:]+):", path)
    return Ask(
        protocol="gemini",
        model=name.group(1) if name else "",
        stream=":streamGenerateContent" in path,
        tools=tuple(tools),
        text="\n".join([_text(body.get("systemInstruction")), *(_text(content) for content in contents)]),
        begun=any(content.get("role") == "model" for content in contents),
        last=users[-1] if users else "",
        schema=schema,
    )


def _usage(answer: Answer) -> Json:
    usage = answer.usage
    made = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output,
        "totalTokenCount": usage.input + usage.output + usage.reasoning,
    }
    if usage.cached:
        made["cachedContentTokenCount"] = usage.cached
    if usage.reasoning:
        made["thoughtsTokenCount"] = usage.reasoning
    return made


def _stop(answer: Answer) -> str:
    return {"": "STOP", "max_tokens": "MAX_TOKENS"}.get(answer.stop, "SAFETY")


def _parts(answer: Answer) -> list[Json]:
    parts: list[Json] = []
    if answer.think:
        parts.append({"text": answer.think, "thought": True})
    if answer.say:
        parts.extend({"text": part} for part in pieces(answer.say))
    for index, call in enumerate(answer.calls):
        value = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
        parts.append({"functionCall": {"id": answer.id("fc", index), "name": call.tool.name, "args": value}})
    return parts


def _chunk(ask: Ask, answer: Answer, parts: list[Json], last: bool) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    if last:
        candidate["finishReason"] = _stop(answer)
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(answer),
        "modelVersion": ask.model,
        "responseId": answer.id("resp"),
    }


def whole(ask: Ask, answer: Answer) -> Json:
    return _chunk(ask, answer, _parts(answer), last=True)


def stream(ask: Ask, answer: Answer) -> list[bytes]:
    parts = _parts(answer) or [{"text": ""}]
    chunks = [_chunk(ask, answer, [part], last=at == len(parts) - 1) for at, part in enumerate(parts)]
    return [f"data: {json.dumps(chunk)}\r\n\r\n".encode() for chunk in chunks]


def error(spec: Json) -> Json:
    details = list(spec.get("extra", {}).get("details", []))
    wait = {name.lower(): value for name, value in spec.get("headers", {}).items()}.get("retry-after")
    if wait:
        # This API tells the wait in the body; its clients do not look at the header.
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{wait}s"})
    inner = {
        "code": spec["status"],
        "message": spec.get("message", f"scripted {spec['status']}"),
        "status": spec.get("type", _STATUS.get(spec["status"], "INTERNAL")),
    }
    return {"error": {**inner, "details": details} if details else inner}


def broken(spec: Json) -> bytes:
    return f"data: {json.dumps(error(spec))}\r\n\r\n".encode()
