"""How many examples a property test tries where the hundred of the profile are too many or too few."""

from hypothesis import settings


def examples(number: int) -> int:
    """So many in `make test`; in the proportion of the profile fewer in `make check`, more in `make soak`."""
    return max(2, number * settings().max_examples // 100)
