"""The exercises of the chapter. TO WRITE: two or three that you can only solve when you understood."""

from iclr26lib.exercises import Exercise, Mistake


def step(mean: float, value: float, count: int) -> float:
    """The mean after one more value, `count` values in all; mean: of the values before."""
    return mean + (value - mean) / count


def error(estimate: float, truth: float) -> float:
    """Distance of an estimate from the truth."""
    return abs(estimate - truth)


EXERCISES = {
    "step": Exercise(
        id="step",
        task="Update a mean by one more value.",
        hint="The mean moves towards the value, less and less.",
        target="The last mean equals the mean of all values.",
        solution=step,
        mistakes={
            "sign": Mistake(lambda mean, value, count: mean - (value - mean) / count, "The mean moves away."),
            "off by one": Mistake(lambda mean, value, count: mean + (value - mean) / (count + 1), "Count from one."),
            "no mean": Mistake(lambda mean, value, count: mean + value / count, "Subtract the mean so far."),
        },
        probes=lambda: [(0.0, 2.0, 1), (2.0, 4.0, 2), (3.0, 9.0, 3)],
        library="iclr26lib.__SLUG__.method:step",
    ),
    "error": Exercise(
        id="error",
        task="Measure how far an estimate is from the truth.",
        hint="Too much is as bad as too little.",
        target="No error is below zero.",
        solution=error,
        mistakes={
            "signed": Mistake(lambda estimate, truth: estimate - truth, "An error has no sign."),
            "squared": Mistake(lambda estimate, truth: (estimate - truth) ** 2, "That is the squared error."),
            "relative": Mistake(lambda estimate, truth: abs(estimate - truth) / abs(truth), "Do not divide."),
        },
        probes=lambda: [(1.0, 3.0), (5.0, 2.0)],
        library="iclr26lib.__SLUG__.method:error",
    ),
}
