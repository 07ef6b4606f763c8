"""What the scripted judges share: the form of an answer by the shipped rubric."""

import json
import sys

NAMES = ("correctness", "clarity", "fit", "tests")


def answer(score, summary="looked at everything", suggestions=()):
    """Prints an answer that gives every dimension the same score."""
    scores = [{"dimension": name, "score": score, "reasoning": f"{name} as seen"} for name in NAMES]
    body = {
        "scores": scores,
        "weighted_score": score,
        "pass": score >= 7,
        "summary": summary,
        "suggestions": list(suggestions),
    }
    print("Here is what I think.", flush=True)
    print(json.dumps(body, indent=1), flush=True)


def spent(tokens, cost):
    print(json.dumps({"ralph": 1, "type": "usage", "tokens": tokens, "cost": cost}), flush=True)


def prompt():
    return sys.stdin.read()
