"""Anthropic Messages, as Claude Code speaks it."""

import json
from typing import Any

from modelserver.talk import Answer, Ask, Json, Tool, pieces

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def frame(event: Json) -> bytes:
    # The clients drop content that comes without its `event:` line.
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = [block for block in content or [] if isinstance(block, dict)]
    return "\n".join(str(block.get("text") or _text(block.get("content"))) for block in parts)


def read(path: str, headers: dict[str, str], body: Json) -> Ask:
    messages = body.get("messages", [])
    users = [_text(message.get("content")) for message in messages if message.get("role") == "user"]
    form = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return Ask(
        protocol="anthropic",
        model=str(body.get("model", "")),
        stream=bool(body.get("stream")),
        tools=tuple(
            Tool(tool["name"], "function", tool["input_schema"])
            for tool in body.get("tools") or []
            if "input_schema" in tool
        ),
        text="\n".join([_text(body.get("system")), *(_text(message.get("content")) for message in messages)]),
        begun=any(message.get("role") == "assistant" for message in messages),
        last=users[-1] if users else "",
        schema=form.get("schema"),
        agent=headers.get("x-claude-code-agent-id", ""),
        conversation=headers.get("x-claude-code-session-id", ""),
    )


def _usage(answer: Answer) -> Json:
    return {
        "input_tokens": answer.usage.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": answer.usage.cached,
        "output_tokens": answer.usage.output,
        "service_tier": "standard",
    }


def _stop(answer: Answer) -> str:
    return answer.stop or ("tool_use" if answer.calls else "end_turn")


def _head(ask: Ask, answer: Answer) -> Json:
    return {
        "id": answer.id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**_usage(answer), "output_tokens": 1},
    }


def _blocks(answer: Answer) -> list[Json]:
    blocks: list[Json] = []
    if answer.think:
        blocks.append({"type": "thinking", "thinking": answer.think, "signature": "c2NyaXB0ZWQ="})
    if answer.say:
        blocks.append({"type": "text", "text": answer.say})
    for index, call in enumerate(answer.calls):
        value = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
        blocks.append(
            {"type": "tool_use", "id": answer.id("toolu_", index), "name": call.tool.name, "input": value}
        )
    return blocks


def _deltas(block: Json) -> tuple[Json, list[Json]]:
    """How a block opens, and what fills it."""
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in pieces(block["text"])]
    if block["type"] == "thinking":
        filled = [{"type": "thinking_delta", "thinking": part} for part in pieces(block["thinking"])]
        filled.append({"type": "signature_delta", "signature": block["signature"]})
        return {**block, "thinking": "", "signature": ""}, filled
    parts = pieces(json.dumps(block["input"]), most=400)
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]


def stream(ask: Ask, answer: Answer) -> list[bytes]:
    events: list[Json] = [{"type": "message_start", "message": _head(ask, answer)}, {"type": "ping"}]
    for index, block in enumerate(_blocks(answer)):
        opened, deltas = _deltas(block)
        events.append({"type": "content_block_start", "index": index, "content_block": opened})
        events.extend({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": _stop(answer), "stop_sequence": None}
    events.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": answer.usage.output}})
    events.append({"type": "message_stop"})
    return [frame(event) for event in events]


def whole(ask: Ask, answer: Answer) -> Json:
    return {
        **_head(ask, answer),
        "content": _blocks(answer),
        "stop_reason": _stop(answer),
        "usage": _usage(answer),
    }


def error(spec: Json) -> Json:
    kind = spec.get("type") or KINDS.get(spec["status"], "api_error")
    inner = {
        "type": kind,
        "message": spec.get("message", f"scripted {spec['status']}"),
        **spec.get("extra", {}),
    }
    return {"type": "error", "error": inner, "request_id": "req_scripted"}


def broken(spec: Json) -> bytes:
    return frame({"type": "error", "error": error(spec)["error"]})
