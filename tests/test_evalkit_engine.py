"""Runs through inspect_ai give the records of the plain loop."""

import numpy as np
import pytest

from iclr26lib import evalkit
from iclr26lib.evalkit import FunctionModel, Item

engine = pytest.importorskip("iclr26lib.evalkit.engine", reason="needs inspect_ai")
KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def items(n=4):
    meta = {"options": ["one", "two", "three"]}
    return [
        Item(f"i{k}", f"law{k % 2}", f"Question {k}?", "ABC"[k % 3], "mc", "calculation", "", meta) for k in range(n)
    ]


class Scripted:
    """A model that knows the item; it refuses questions with a 2 and notes who was asked."""

    name, needs_item = "org/scripted(1.5, 0)", True

    def __init__(self):
        self.asked = []

    def generate(self, messages, *, item, temperature=0.0, max_tokens=256, seed=0):
        self.asked.append((item.id, temperature, max_tokens, seed, str(messages)))
        if "2" in messages[0]["content"]:
            raise ConnectionError("no answer today")
        return item.answer if seed % 3 else "A"

    def choice_logprobs(self, messages, choices, *, item):
        return np.array([float(choice == item.answer) for choice in choices])


def dialogue(item, generate):
    review = generate([{"role": "user", "content": item.question}], temperature=0.6, max_tokens=9)
    history = [{"role": "user", "content": item.question}, {"role": "assistant", "content": review}]
    return [review, generate([*history, {"role": "user", "content": "Now you."}])]


def same_turns(item, output):
    return float(output[0] == output[1]), {"turns": set(output)}


def test_epochs_dialogues_and_errors_give_equal_records_and_a_log(tmp_path):
    from inspect_ai.log import list_eval_logs, read_eval_log

    plain, through = Scripted(), Scripted()
    asked = {"n_samples": 3, "solver": dialogue, "grader": same_turns, "seed": 5}
    expected = evalkit.run(items(), plain, **asked)
    found = evalkit.run(items(), through, engine="inspect", log_dir=tmp_path / "logs", **asked)
    assert found == expected
    assert {r.error for r in found} == {None, "ConnectionError: no answer today"}
    assert {r.score for r in found} == {None, 1.0}
    assert sorted(through.asked) == sorted(plain.asked)
    (where,) = list_eval_logs(str(tmp_path / "logs"))
    log = read_eval_log(where)
    assert (log.status, log.eval.model, len(log.samples)) == ("success", "iclr26/org/scripted(1.5, 0)", 12)
    assert engine.records_of(log, items(), plain.name) == expected
    metrics = log.results.scores[0].metrics
    assert metrics["mean"].value == 1.0
    assert {"mean", "stderr", "mc"} <= set(metrics)
    sample = next(s for s in log.samples if s.id == "i0")
    assert [m.role for m in sample.messages] == ["user", "assistant", "user", "assistant"]
    assert sample.metadata["family"] == "law0"


def test_scores_agree_with_the_plain_loop_and_the_cache_is_shared(tmp_path):
    model = FunctionModel("seeded", lambda messages, temperature, max_tokens, seed: "ABC"[seed % 3])
    through = evalkit.run(items(), model, 2, cache=tmp_path / "c", engine="inspect", grader=evalkit.exact)
    plain = evalkit.grade_all(items(), evalkit.run_simple(items(), model, 2), evalkit.exact)
    assert through == plain
    assert 0 < sum(r.score for r in plain) < 8
    assert evalkit.run(items(), model, 2, cache=tmp_path / "c", max_calls=0, grader=evalkit.exact) == plain
    assert list(tmp_path.iterdir()) == [tmp_path / "c"]


def test_likelihoods_and_mistakes(tmp_path):
    solver = evalkit.choose()
    assert [r.output for r in evalkit.run(items(3), Scripted(), solver=solver, engine="inspect")] == ["A", "B", "C"]
    with pytest.raises(ZeroDivisionError):
        evalkit.run(items(2), Scripted(), solver=lambda item, generate: 1 / 0, engine="inspect")
    model = FunctionModel("m", lambda *a: "A")
    with pytest.raises(evalkit.BudgetExceeded):
        evalkit.run(items(), model, cache=tmp_path / "c", max_calls=2, engine="inspect")


def test_a_grader_that_raises_stops_the_run():
    def broken(item, output):
        return {}["no such key"]

    model = FunctionModel("m", lambda *a: "A")
    for how in ("simple", "inspect"):
        with pytest.raises(KeyError, match="no such key"):
            evalkit.run(items(1), model, grader=broken, engine=how)


def test_a_task_for_the_command_line_takes_a_registered_model():
    from inspect_ai import eval as inspect_eval

    engine.register("always-a", lambda: FunctionModel("always-a", lambda *a: "A"))
    task = engine.as_task(items(), evalkit.exact, n_samples=2)
    (log,) = inspect_eval(task, model="iclr26/always-a", display="none", log_dir="logs")
    records = engine.records_of(log, items(), "always-a")
    assert [r.score for r in records] == [1, 1, 0, 0, 0, 0, 1, 1]
    brought = engine.as_task(items(), evalkit.exact, model=Scripted(), seed=5)
    (log,) = inspect_eval(brought, model="none", display="none", log_dir="logs")
    assert log.eval.model == "iclr26/org/scripted(1.5, 0)"
    expected = evalkit.run(items(), Scripted(), seed=5, grader=evalkit.exact)
    assert engine.records_of(log, items(), Scripted.name) == expected
    with pytest.raises(ValueError, match=r"unknown model 'nobody'; known: .*always-a"):
        engine.AdapterAPI("nobody")
    with pytest.raises(ValueError, match="a model needs a name"):
        engine.register("", lambda: None)


def test_no_key_reaches_a_log(tmp_path, monkeypatch):
    from inspect_ai.log import list_eval_logs, read_eval_log

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = evalkit_endpoint()
    records = evalkit.run(items(1), model, engine="inspect", log_dir=tmp_path / "logs")
    assert "ConnectError" in records[0].error
    (where,) = list_eval_logs(str(tmp_path / "logs"))
    assert KEY not in read_eval_log(where).model_dump_json() + str(records)


def evalkit_endpoint():
    from iclr26lib.evalkit.openai_compatible import OpenAICompatible

    return OpenAICompatible("http://127.0.0.1:9/v1", "tiny", timeout=2, tries=1)


def test_messages_go_there_and_back():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]},
        {"role": "assistant", "content": "A dot."},
    ]
    assert [engine.to_message(engine.to_chat(m)) for m in messages] == messages
    with pytest.raises(ValueError, match="text or image_url, got 'audio'"):
        engine.to_chat({"role": "user", "content": [{"type": "audio"}]})


def test_a_run_may_be_started_where_a_loop_runs_already():
    import asyncio

    async def cell():
        return evalkit.run(items(1), FunctionModel("m", lambda *a: "A"), engine="inspect")

    assert asyncio.run(cell())[0].output == "A"
