"""Code answers behind the fence, and the official data set's records."""

import sys
import types
from pathlib import Path

import pytest

from iclr26lib.earthse import code_run, graders, items, official, prompts
from iclr26lib.earthse.laws import LAWS

INPUTS = [{"a": 1.0 + i, "b": 2.0} for i in range(5)]
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limits are those of Linux")
CODE = [item for item in items.make_items(40, {"fr": 1}, seed=3, tasks=("code_generation",))]


def run(program, seconds=20.0):
    return code_run.run_code(program, INPUTS, seconds)


@LINUX
def test_honest_code_runs():
    assert run("import math\ndef solve(a, b):\n    print(a, flush=True)\n    return math.hypot(a, b)")[
        2
    ] == pytest.approx(13**0.5)
    assert run("def solve(a, b):\n    return a / (a - 2)") == [-1.0, None, 3.0, 2.0, 5 / 3]
    assert run("def solve(a, b):\n    return 'x' if a > 1 else float('nan')") == [None] * 5


@LINUX
@pytest.mark.parametrize(
    "body",
    [
        "return len('x' * (4 * 10**9))", "return open('out.txt', 'w').write('x')",
        "return len(open('/etc/passwd').read())", "import ctypes; return 1", "import subprocess; return 1",
        "import socket; socket.create_connection(('127.0.0.1', 80)); return 1",
        "import sys; sys.modules['os'].fork(); return 1", "import sys; sys.modules['os'].system('true'); return 1",
        "import os\n    while True: os.write(3, b'x' * 65536)", "import os; os.write(3, b'[' * 90000); os._exit(0)",
        "raise KeyboardInterrupt", "import sys; sys.exit()", "import sys; sys.modules['os']._exit(0)",
        "import sys; sys.modules['os'].write(1, b'[1,1,1,1,1]'); sys.modules['os']._exit(0)", "return solve(a, b)",
        "import builtins, sys; m = sys.modules['__main__']; m.PASS.add('os.system'); builtins.type = lambda x: str; "
        "m.os.system('true'); return 1",
    ],
)  # fmt: skip
def test_hostile_code_gets_nothing(body):
    assert run(f"def solve(a, b):\n    {body}") == [None] * 5


@LINUX
def test_loops_end_and_broken_programs_give_nothing(tmp_path):
    assert run("def solve(a, b):\n    while True: pass", 2.5) == [None] * 5
    evil = tmp_path / "evil"
    evil.parent.chmod(0o777)
    for program in (
        "",
        "def solve(",
        "raise SystemExit",
        f"open({str(evil)!r}, 'w')\ndef solve(a, b): return a",
        "\x00",
        "\ud800",
    ):
        assert run(program) == [None] * 5
    assert not evil.exists()


@LINUX
def test_the_kernel_limits_hold_without_the_audit_hook(monkeypatch):
    """Behind the first fence stands a second: no further process, nothing written to a file."""
    harness = Path(code_run.HARNESS).read_text(encoding="utf-8")
    bare = harness.replace("    sys.addaudithook(fence())\n", "")
    assert bare != harness
    program = (
        "import os\n"
        "def tried(f):\n    try:\n        f()\n    except OSError:\n        return 0\n    return 1\n"
        "def child():\n    if os.fork() == 0: os._exit(0)\n"
        "def file():\n    with open('x', 'w') as f: f.write('x' * 10)\n"
        "def solve(a, b):\n    return 10 * tried(child) + tried(file)\n"
    )
    monkeypatch.setattr(type(code_run.HARNESS), "read_text", lambda self, encoding=None: bare)
    assert run(program) == [0.0] * 5


@LINUX
def test_code_sees_no_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert run("import os\ndef solve(a, b):\n    return sum('secret' in v for v in os.environ.values())") == [0.0] * 5


def test_run_code_refuses(monkeypatch):
    with pytest.raises(ValueError, match="inputs"):
        code_run.run_code("x", [])
    with pytest.raises(ValueError, match="positive time"):
        code_run.run_code("x", INPUTS, 0)
    with pytest.raises(ValueError, match="as many"):
        code_run.passed("x", {"inputs": INPUTS, "outputs": [1.0]})
    monkeypatch.setattr(code_run, "MEMORY", "much")
    with pytest.raises(RuntimeError, match="limits"):
        run("def solve(a, b): return 1")


def test_program_of():
    assert code_run.program_of("Here:\n```python\nx = 1\n```\nand ```\ny\n```") == "x = 1\n"
    assert code_run.program_of("x = 1") == "x = 1"


@LINUX
def test_code_answers_are_graded_only_when_allowed():
    assert len({item.family for item in CODE}) > 20
    item = CODE[0]
    with pytest.raises(ValueError, match="allow_code=True"):
        graders.grade(item, item.answer, "tolerant")
    for item in CODE[:4]:
        assert graders.grade(item, f"```python\n{item.answer}```", "tolerant", allow_code=True) == 1
        wrong = item.answer.replace("return ", "return 1.02 * ")
        assert graders.grade(item, wrong, "tolerant", allow_code=True) == 0
    assert graders.grade(item, "", "tolerant", allow_code=True) == 0
    law = LAWS[item.family]
    assert item.meta["code"]["outputs"] == [law.function(**x) for x in item.meta["code"]["inputs"]]


QUESTION = {
    "idx": 7, "question": "Which gas?\nA. argon\nB. carbon dioxide\nC. neon\nD. radon", "answer": "B",
    "task": "knowledge_qa", "reasoning_chain": ["It absorbs.", "It rises."], "sphere": "Atmosphere",
    "subject": "climate", "sub_discipline": "forcing",
}  # fmt: skip
GOLD = {
    "idx": 3, "user_0": "Review.", "assistant_0": "M0 L0", "user_1": "Propose.", "assistant_1": "M1 L1",
    "sphere": "Hydrosphere",
}  # fmt: skip


def test_official_questions_become_items():
    item = official.from_record(QUESTION, "iron", "multiple_choice")
    assert (item.fmt, item.answer, item.sphere, item.task) == ("mc", "B", "atmosphere", "knowledge_qa")
    assert item.meta["options"] == ["argon", "carbon dioxide", "neon", "radon"]
    assert prompts.prompt(item)[1]["content"].count("carbon dioxide") == 1
    assert graders.grade(item, "carbon dioxide", "tolerant") == 1
    assert prompts.steps(item, 2) == ["It absorbs.", "It rises."]
    listed = official.from_record(
        {**QUESTION, "question": "Which?", "options": ["x", "y"]}, "silver", "multiple_choice"
    )
    assert prompts.prompt(listed)[1]["content"].count("B. y") == 1
    unread = official.from_record({**QUESTION, "question": "Which of these?"}, "iron", "multiple_choice")
    assert unread.meta["options"] == list("ABCD")
    assert not unread.meta["options_read"]
    text = official.from_record({**QUESTION, "answer": "True", "reasoning_chain": "a\n\nb"}, "iron", "true_false")
    assert (text.fmt, text.meta["reasoning_chain"]) == ("tf", ["a", "b"])
    assert official.from_record({**QUESTION, "answer": "ice, snow"}, "iron", "fill_in_the_blank").fmt == "fib"
    assert official.from_record({**QUESTION, "answer": "long"}, "silver", "free_form").fmt == "fr"


def test_official_dialogues_become_items():
    item = official.from_record(GOLD, "gold")
    assert (item.fmt, item.question, item.answer) == ("dialogue", "Review.", "M0 L0\n\nM1 L1")
    assert item.meta["user_1"] == "Propose."


@pytest.mark.parametrize(
    ("record", "tier", "split", "message"),
    [
        (QUESTION, "bronze", "true_false", "unknown tier"), (QUESTION, "iron", "essay", "unknown split"),
        (GOLD, "gold", "true_false", "unknown split"),
        ({**QUESTION, "answer": ""}, "iron", "free_form", "record 7: no answer"),
        ({k: v for k, v in GOLD.items() if k != "user_1"}, "gold", "train", "record 3: no user_1"),
        ({**QUESTION, "answer": "true"}, "iron", "true_false", "must be one of"),
    ],
)  # fmt: skip
def test_official_records_that_are_refused(record, tier, split, message):
    with pytest.raises(ValueError, match=message):
        official.from_record(record, tier, split)


def test_the_hub_is_asked_for_each_split(monkeypatch):
    asked, down = [], []

    def load_dataset(name, split):
        asked.append((name, split))
        if down:
            raise ConnectionError("no route")
        return [{**QUESTION, "answer": {"multiple_choice": "B", "true_false": "True"}.get(split, "ice")}]

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    loaded = official.load_official("silver")
    assert sorted(item.fmt for item in loaded) == ["fib", "fr", "mc", "tf"]
    assert {name for name, _ in asked} == {"ai-earth/Earth-Silver"}
    down.append(True)
    with pytest.raises(official.OfflineError, match=r"ai-earth/Earth-Gold .*cannot be fetched"):
        official.load_official("gold")


def test_without_the_package_the_id_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(official.OfflineError, match="ai-earth/Earth-Iron needs the package datasets"):
        official.load_official("iron")
    with pytest.raises(ValueError, match="unknown tier"):
        official.load_official("bronze")
    with pytest.raises(ValueError, match="unknown splits"):
        official.load_official("gold", ["true_false"])


def test_nothing_is_spent_without_a_word(capsys):
    both = [
        official.from_record(QUESTION, "iron", "multiple_choice"),
        official.from_record({**QUESTION, "answer": "long"}, "iron", "free_form"), official.from_record(GOLD, "gold"),
    ]  # fmt: skip
    assert official.calls_needed(both) == {"model": 8, "judge": 2, "total": 10}
    with pytest.raises(ValueError, match="confirm=True"):
        official.confirm_calls(both)
    assert "8 calls of the model, 2 of the judge" in capsys.readouterr().out
    assert official.confirm_calls(both, M=1, confirm=True)["total"] == 6
    with pytest.raises(ValueError, match="M must be"):
        official.calls_needed(both, 0)
