"""A rubric to judge by."""

from ralph.core.model.rubric import Dimension, Rubric

ANCHORS = {"1": "bad", "5": "so so", "10": "good"}
NAMES = ("correct", "clear", "small")
DIMENSIONS = tuple(
    Dimension(name, weight, f"is it {name}?", ANCHORS)
    for name, weight in zip(NAMES, (0.5, 0.3, 0.2), strict=True)
)
RUBRIC = Rubric(dimensions=DIMENSIONS)
