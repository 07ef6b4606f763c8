"""OpenAI Responses, as Codex speaks it: tools may be functions, free-form ones, and may sit in the input."""

import json
from collections.abc import Iterator
from typing import Any

from modelserver.talk import Answer, Ask, Call, Json, Tool, pieces


def _tools(offered: Any, space: str = "") -> Iterator[Tool]:
    for tool in offered or []:
        kind = tool.get("type")
        if kind == "function":
            yield Tool(tool["name"], "function", tool.get("parameters") or {}, space)
        elif kind == "custom":
            yield Tool(tool["name"], "custom", {}, space)
        elif kind == "namespace":
            yield from _tools(tool.get("tools"), tool.get("name", ""))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or [] if isinstance(part, dict))


_OURS = {"function_call", "custom_tool_call", "local_shell_call", "reasoning"}


def read(path: str, headers: dict[str, str], body: Json) -> Ask:
    given = body.get("input", [])
    items = [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given
    tools = list(_tools(body.get("tools")))
    for item in items:
        if item.get("type") == "additional_tools":
            tools.extend(_tools(item.get("tools")))
    users = [_text(item.get("content")) for item in items if item.get("role") == "user"]
    form = (body.get("text") or {}).get("format") or {}
    return Ask(
        protocol="responses",
        model=str(body.get("model", "")),
        stream=bool(body.get("stream")),
        tools=tuple(tools),
        text="\n".join(
            [str(body.get("instructions") or ""), *(_text(item.get("content")) for item in items)]
        ),
        begun=any(item.get("role") == "assistant" or item.get("type") in _OURS for item in items),
        last=users[-1] if users else "",
        schema=form.get("schema"),
        conversation=headers.get("thread-id") or headers.get("session-id") or headers.get("session_id", ""),
    )


def _message(answer: Answer) -> Json:
    part = {"type": "output_text", "text": answer.say, "annotations": [], "logprobs": []}
    return {
        "type": "message",
        "id": answer.id("msg_"),
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def _call(answer: Answer, index: int, call: Call) -> Json:
    shared = {"status": "completed", "call_id": answer.id("call_", index), "name": call.tool.name}
    if call.tool.space:
        shared["namespace"] = call.tool.space
    if isinstance(call.arguments, str):
        return {"type": "custom_tool_call", "id": answer.id("ctc_", index), **shared, "input": call.arguments}
    arguments = json.dumps(call.arguments)
    return {"type": "function_call", "id": answer.id("fc_", index), **shared, "arguments": arguments}


def _items(answer: Answer) -> list[Json]:
    items: list[Json] = []
    if answer.think:
        summary = [{"type": "summary_text", "text": answer.think}]
        items.append({"type": "reasoning", "id": answer.id("rs_"), "summary": summary})
    if answer.say:
        items.append(_message(answer))
    items.extend(_call(answer, index, call) for index, call in enumerate(answer.calls))
    return items


def whole(ask: Ask, answer: Answer) -> Json:
    usage = answer.usage
    made = {
        "id": answer.id("resp_"),
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": ask.model,
        "output": _items(answer),
        "error": None,
        "incomplete_details": None,
        "usage": {
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.input + usage.output,
        },
    }
    if answer.stop:
        reason = "max_output_tokens" if answer.stop == "max_tokens" else "content_filter"
        made |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
    return made


def _filling(item: Json, at: int) -> Iterator[Json]:
    """The deltas between an item's opening and its end."""
    place = {"item_id": item["id"], "output_index": at}
    if item["type"] == "message":
        [part] = item["content"]
        yield {
            "type": "response.content_part.added",
            **place,
            "content_index": 0,
            "part": {**part, "text": ""},
        }
        for piece in pieces(part["text"]):
            yield {"type": "response.output_text.delta", **place, "content_index": 0, "delta": piece}
        yield {"type": "response.output_text.done", **place, "content_index": 0, "text": part["text"]}
        yield {"type": "response.content_part.done", **place, "content_index": 0, "part": part}
    elif item["type"] == "function_call":
        for piece in pieces(item["arguments"], most=400):
            yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        yield {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]}
    elif item["type"] == "custom_tool_call":
        for piece in pieces(item["input"], most=400):
            yield {"type": "response.custom_tool_call_input.delta", **place, "delta": piece}
        yield {"type": "response.custom_tool_call_input.done", **place, "input": item["input"]}


def _events(ask: Ask, answer: Answer) -> Iterator[Json]:
    done = whole(ask, answer)
    opened = {**done, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": opened}
    yield {"type": "response.in_progress", "response": opened}
    for at, item in enumerate(done["output"]):
        begun = {**item, "status": "in_progress"}
        begun |= {"content": []} if "content" in item else {}
        begun |= {name: "" for name in ("arguments", "input") if name in item}
        yield {"type": "response.output_item.added", "output_index": at, "item": begun}
        yield from _filling(item, at)
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    yield {"type": "response.incomplete" if answer.stop else "response.completed", "response": done}


def _frame(event: Json, number: int) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n".encode()


def stream(ask: Ask, answer: Answer) -> list[bytes]:
    return [_frame(event, number) for number, event in enumerate(_events(ask, answer))]


_CODES = {
    400: ("invalid_request_error", "invalid_request"),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "forbidden"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
    503: ("server_error", "server_is_overloaded"),
    529: ("server_error", "server_is_overloaded"),
}


def error(spec: Json) -> Json:
    kind, code = _CODES.get(spec["status"], ("server_error", "server_error"))
    # Some clients tell a wrong key from a wrong request by these words of the real provider.
    known = "Incorrect API key provided: " if spec["status"] == 401 else ""
    return {
        "error": {
            "message": spec.get("message", f"{known}scripted {spec['status']}"),
            "type": spec.get("type", kind),
            "param": None,
            "code": spec.get("code", code),
            **spec.get("extra", {}),
        }
    }


def broken(spec: Json) -> bytes:
    inner = error(spec)["error"]
    failed = {
        "id": "resp_scripted",
        "object": "response",
        "status": "failed",
        "error": {"code": inner["code"], "message": inner["message"]},
    }
    return _frame({"type": "response.failed", "response": failed}, 999)
