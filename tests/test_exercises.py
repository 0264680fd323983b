"""The checker accepts the solution, names planted mistakes, and says what differs otherwise."""

import pytest

from iclr26lib.exercises import Exercise, Mistake, WrongAnswer


def doubled(x):
    return 2 * x


DOUBLE = Exercise(
    id="double",
    task="Double.",
    hint="Twice.",
    target="Twice as much.",
    solution=doubled,
    mistakes={
        "added 2": Mistake(lambda x: x + 2, "You add."),
        "squared": Mistake(lambda x: x * x, "You square."),
        "raises": Mistake(lambda x: x / 0, "You divide by nothing."),
    },
    probes=lambda: [(2,), (3,), (5,)],
)


def test_true_solution_passes():
    assert DOUBLE.check(lambda x: x + x).startswith("double: right, on all 3 probes")


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda x: 2 + x, r"double: added 2\. You add\."),
        (lambda x: x**2, r"double: squared\. You square\."),
        (lambda x: 7, "probe 0 should give 4, yours gives 7"),
        (lambda x: 2 * x if x < 5 else 11, "probe 2 should give 10, yours gives 11"),
        (lambda x: [2 * x], "probe 0"),
        (lambda: 4, "probe 0 should give 4, yours gives TypeError"),
    ],
)
def test_wrong_solution_is_told_why(fn, message):
    with pytest.raises(WrongAnswer, match=message) as caught:
        DOUBLE.check(fn)
    assert DOUBLE.reply(fn) == str(caught.value)


def test_work_in_place_is_observed_whatever_is_returned():
    def add_one(box):
        box[0] += 1

    def left(fn):
        return lambda box: (fn(box), box[0])[1]

    mistakes = {"two": Mistake(lambda box: box.__setitem__(0, box[0] + 2), "You add two.")}
    exercise = Exercise("box", "t", "h", "g", add_one, mistakes, lambda: [([1],), ([5],)], observe=left)
    assert "right" in exercise.check(lambda box: box.__setitem__(0, box[0] + 1))
    with pytest.raises(WrongAnswer, match="You add two"):
        exercise.check(lambda box: box.__setitem__(0, box[0] + 2))
    with pytest.raises(WrongAnswer, match="probe 0 should give 2, yours gives 1"):
        exercise.check(lambda box: box[0] + 1)


def test_check_takes_a_function():
    with pytest.raises(TypeError, match="takes a function"):
        DOUBLE.check(4)
