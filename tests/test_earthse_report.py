"""The report on a model of one's own, its command, and the tasks for inspect."""

import json
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from iclr26lib.chapters import ROOT
from iclr26lib.earthse import official, report
from iclr26lib.earthse.dialogue_runs import depth
from iclr26lib.earthse.dialogues import write_dialogue
from iclr26lib.earthse.embed import HashEmbedder
from iclr26lib.earthse.gold import make_gold
from iclr26lib.earthse.items import make_items
from iclr26lib.earthse.judge import ScriptedJudge
from iclr26lib.earthse.report import Report, evaluate
from iclr26lib.earthse.scripted import Scripted
from iclr26lib.evalkit import AdapterError, FunctionModel, Item

KEY = "sk-idea-0123456789abcdef"


class Counting:
    """A scripted model that counts its calls and dies at one of them."""

    needs_item = True

    def __init__(self, dies_at=None, fails=()):
        self.inner, self.name = Scripted(1.0, 3, noise_format=0.5), "counting"
        self.calls, self.dies_at, self.fails = 0, dies_at, fails

    def generate(self, messages, *, item, **settings):
        self.calls += 1
        if self.calls == self.dies_at:
            raise KeyboardInterrupt
        if item.id in self.fails:
            raise AdapterError("no answer")
        return self.inner.answer(item)


def tiny(scores, families="aabb", measure="tolerant", fmt="fib"):
    """A report on four made-up items."""
    items = [Item(str(i), family, "q?", "x", fmt, "task", "ice") for i, family in enumerate(families)]
    return Report("m", "ours", items, [], {measure: scores}, 500)


# the report


def test_a_crash_in_the_middle_repeats_no_call(tmp_path):
    first = Counting(dies_at=25)
    with pytest.raises(KeyboardInterrupt):
        evaluate(first, n=40, cache=tmp_path)
    second = Counting()
    resumed = evaluate(second, n=40, cache=tmp_path)
    assert second.calls == 40 - 24
    third = Counting()
    assert evaluate(third, n=40, cache=tmp_path) == resumed
    assert third.calls == 0
    assert evaluate(Counting(), n=40).scores == resumed.scores


def test_a_judges_calls_are_kept_too(tmp_path):
    asked = []
    judge = FunctionModel("judge", lambda messages, *_: asked.append(1) or "B")
    found = evaluate(Counting(), n=16, judge=judge, cache=tmp_path)
    free = [score for item, score in zip(found.items, found.scores["strict"], strict=True) if item.fmt == "fr"]
    assert free == [1.0] * 4
    assert evaluate(Counting(), n=16, judge=judge, cache=tmp_path) == found
    assert len(asked) == 4
    swapped = evaluate(Counting(), n=16, judge=judge, cache=tmp_path, order="swap")
    assert [s for item, s in zip(swapped.items, swapped.scores["strict"], strict=True) if item.fmt == "fr"] == [0.5] * 4


def test_scores_are_those_of_the_graders_and_failed_calls_are_missing():
    lost = make_items(40, None, 0, report.SAFE_TASKS)[3].id
    found = evaluate(Counting(fails=[lost]), n=40)
    at = [item.id for item in found.items].index(lost)
    assert found.scores["strict"][at] is None
    assert found.scores["tolerant"][at] is None
    assert found.notes == [f"{lost}: AdapterError: no answer"]
    closed = [i for i, item in enumerate(found.items) if item.fmt != "fr" and i != at]
    for i in closed:
        assert found.scores["strict"][i] == float(found.records[i].output == found.items[i].answer)
    assert found.score("strict").est == pytest.approx(np.mean([found.scores["strict"][i] for i in closed]))
    assert [row[0] for row in found.table().rows[:5]] == ["all", *(f"format {f}" for f in ("mc", "tf", "fib", "fr"))]
    assert [str(part) for part in found.table().rows[0][3]][1] == "39 of 40"
    assert found.table().rows[4][2] == "-"  # free answers without a judge


def test_a_difference_by_hand():
    a, b = tiny([1.0, 1.0, 1.0, 0.0]), tiny([0.0, 0.0, 1.0, 0.0])
    gap = a.difference(b, "tolerant")
    assert gap.est == 0.5
    assert (gap.lo, gap.hi) == (0.0, 1.0)  # families differ by 1 and 0, and a draw may hold one of them twice
    assert a.score("tolerant", fmt="fib").est == 0.75
    assert a.compare(b).rows[0] == ["all", "+50.0 points (+0.0 to +100.0)"]
    lacking = tiny([None, 1.0, 1.0, 0.0])
    assert lacking.difference(b, "tolerant").est == pytest.approx(1 / 3)  # the pair without a score is left out
    assert tiny([1.0, None, None, None]).compare(tiny([None, 1.0, 1.0, 1.0])).rows[0][1] == "-"


def test_disagreement_counts_by_hand():
    both = tiny([1.0, 1.0, 0.0, 0.0])
    two = replace(both, scores={"strict": [1.0, 0.0, 0.0, None], "tolerant": [1.0, 1.0, 0.0, 1.0]})
    shown = replace(two, records=[report.Record("1", "m", "X.\n")])
    assert shown.disagreement().rows == [["fib", "3", "1", "1", "0", "'X.\\n' for 'x'"]]


def test_a_report_survives_the_disk(tmp_path):
    found = evaluate(Scripted(0.5, 1, name="one"), n=24)
    found.save(tmp_path / "r.json")
    assert Report.load(tmp_path / "r.json") == found
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]
    for text in ("", "[]", "{}", '{"report": 2, "items": [], "records": []}', '{"report": 1, "items": 3}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ValueError, match=r"bad\.json holds no report"):
            Report.load(tmp_path / "bad.json")


def test_dialogues_are_scored_by_judge_and_embedding():
    gold = {item.meta["user_0"]: item for item in make_gold(6, 0)}
    drawn = iter(range(100))

    def write(messages, temperature, *_):
        turn = 0 if temperature > 0 else 1
        user = messages[1]["content"].removeprefix("80 words or less. ")
        return write_dialogue(gold[user], 3, 1, next(drawn) // 2 % 3)[turn]

    found = evaluate(
        FunctionModel("writer", write), n=6, tier="ours-gold", judge=ScriptedJudge(depth), embed=HashEmbedder()
    )
    assert set(found.scores) == {"r", "d", "ses"}
    assert len(found.records) == 18
    assert found.scores["ses"] == [r * d for r, d in zip(found.scores["r"], found.scores["d"], strict=True)]
    assert all(1 <= d <= 10 for d in found.scores["d"])
    with pytest.raises(ValueError, match="no two graders"):
        found.disagreement()


def test_wrong_input_is_refused(capsys):
    model = Scripted(0.0)
    with pytest.raises(ValueError, match="tier must be one of ours"):
        evaluate(model, tier="platinum")
    for wrong, message in (
        ({"n": None}, "n must be given"),
        ({"n": 4, "tier": "ours-gold"}, "dialogues need a judge"),
        ({"n": 4, "order": "random"}, "order must be one of"),
        ({"n": 4, "turns": "first"}, "turns must be one of last, all"),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate(model, **wrong)
    with pytest.raises(AdapterError, match="none of 8 calls succeeded; the first said: RuntimeError: down"):
        evaluate(FunctionModel("down", _down), n=8)
    with pytest.raises(ValueError, match="the same items"):
        tiny([1.0] * 4).difference(tiny([1.0] * 4, "abab"), "tolerant")
    with pytest.raises(ValueError, match="measure must be one of tolerant"):
        tiny([1.0] * 4).score("strict")
    with pytest.raises(ValueError, match="groups are fmt"):
        tiny([1.0] * 4).score("tolerant", law="x")
    with pytest.raises(ValueError, match="with 4 scores, got 'tolerant', 3"):
        tiny([1.0] * 3)


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        ({"draws": 0}, ValueError, "draws must be"),
        ({"draws": 1.5}, ValueError, "draws must be"),
        ({"embed": 3}, TypeError, "embed must be"),
        ({"judge": "gpt"}, TypeError, "a judge needs a call"),
        ({"judge": lambda question: "A"}, TypeError, "must take 3 arguments"),
        ({"judge": lambda *_: "A", "tier": "ours-gold"}, TypeError, "a judge needs a rank"),
    ],
)
def test_what_would_fail_late_is_refused_before_any_call(wrong, kind, message):
    model = Counting()
    with pytest.raises(kind, match=message):
        evaluate(model, **{"n": 8, **wrong})
    assert model.calls == 0


def test_a_judge_that_breaks_is_noted_and_does_not_end_the_run():
    def broken(question, first, second):
        raise KeyError("lost")

    for judge, why in ((broken, "KeyError: 'lost'"), (lambda *_: 7, "must be a text, got int")):
        found = evaluate(Counting(), n=16, judge=judge)
        free = [score for item, score in zip(found.items, found.scores["strict"], strict=True) if item.fmt == "fr"]
        assert free == [0.0] * 4
        assert [why in note for note in found.notes] == [True] * 4
    with pytest.raises(ValueError, match=r"must give \(8, D\) rows for 8 texts, got \(3,\)"):
        evaluate(Counting(), n=16, embed=lambda texts: [1.0, 2.0, 3.0])


def _down(*_):
    raise RuntimeError("down")


def test_the_papers_tiers_need_a_word_before_anything_is_spent(monkeypatch, capsys):
    row = {"question": "Ice floats.", "reasoning_chain": "a\nb", "answer": "True", "task": "fact_checking",
           "sphere": "Cryosphere", "subject": "s", "sub_discipline": "d"}  # fmt: skip
    rows = {split: [] for split in official.SPLITS} | {"true_false": [{**row, "idx": i} for i in range(5)]}
    monkeypatch.setattr(official, "_rows", lambda name, split: rows[split])
    model = Counting()
    model.inner.answer = lambda item: "True"
    with pytest.raises(ValueError, match="3 calls may cost money: pass confirm=True"):
        evaluate(model, n=3, tier="iron")
    assert model.calls == 0
    assert "3 calls of the model and 0 of the judge" in capsys.readouterr().out
    found = evaluate(model, n=3, tier="iron", confirm=True)
    assert found.scores == {"strict": [1.0] * 3, "tolerant": [1.0] * 3}
    with pytest.raises(ValueError, match=r"n must lie in 1\.\.5"):
        evaluate(model, n=6, tier="iron", confirm=True)


# the command


class Endpoint(BaseHTTPRequestHandler):
    """Answers "A" to everything, and dies after some answers."""

    answers, allowed = 0, 10**9

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        cls = type(self)
        refused = cls.answers >= cls.allowed
        cls.answers += not refused
        said = (
            {"error": f"no more for {self.headers['Authorization']}"}
            if refused
            else {"choices": [{"message": {"content": "A"}}]}
        )
        body = json.dumps(said).encode()
        self.send_response(403 if refused else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Silent."""


@pytest.fixture
def endpoint(monkeypatch):
    monkeypatch.setenv("IDEA_KEY", KEY)
    kind = type("Fresh", (Endpoint,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield kind, f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_the_command_prints_tables_and_never_the_key(endpoint, tmp_path, capfd):
    kind, url = endpoint
    kept = tmp_path / "r.json"
    command = ["--base-url", url, "--model", "letter", "--key-env", "IDEA_KEY", "--items", "16"]
    command += ["--cache", str(tmp_path / "answers"), "--save", str(kept)]
    assert report.main(command) == 0
    said = capfd.readouterr()
    assert said.out.startswith("16 items: 16 calls of the model and 0 of the judge")
    assert "format mc | 4 | 25.0 %" in said.out  # always "A" on balanced keys
    assert kind.answers == 16
    assert report.main([*command, "--against", str(kept)]) == 0
    assert kind.answers == 16
    assert "letter minus letter | strict | tolerant" in capfd.readouterr().out
    lost = [*command[:-1], str(tmp_path / "none" / "r.json"), "--seed", "5"]
    assert report.main(lost) == 1
    assert "--save needs a file in a folder that exists" in capfd.readouterr().err
    assert report.main([*command, "--seed", "5", "--against", str(kept)]) == 1
    assert "--against holds 16 other items" in capfd.readouterr().err
    assert kind.answers == 16
    kind.allowed = 0
    assert report.main([*command, "--items", "20"]) == 1  # the first call is refused: nothing more is tried
    error = capfd.readouterr()
    assert "error: none of 1 calls succeeded" in error.err
    everything = said.out + said.err + error.out + error.err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 2
    assert KEY not in everything + "".join(path.read_text() for path in files)
    assert report.main(["--base-url", "ftp://x", "--model", "m", "--key-env", "IDEA_KEY"]) == 1


# inspect


def test_the_tasks_run_through_inspect_and_leave_readable_logs(tmp_path):
    program = f"""
import inspect_ai
from iclr26lib.earthse import task
for name, args in (("earthse_items", {{"n": 12, "seed": 1}}), ("earthse_items", {{"n": 12, "mode": "published"}})):
    inspect_ai.eval(f"iclr26lib/earthse/task.py@{{name}}", model="iclr26/scripted", task_args=args,
                    log_dir={str(tmp_path)!r}, display="none")
gold = task.earthse_gold(n=2, samples=3)
print(len(gold.dataset), gold.epochs)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["2", "3"]
    from inspect_ai.log import list_eval_logs, read_eval_log

    logs = sorted(map(read_eval_log, list_eval_logs(str(tmp_path))), key=lambda log: log.eval.task_args.get("seed", 0))
    assert [log.status for log in logs] == ["success", "success"]
    assert {sample.metadata["fmt"] for sample in logs[0].samples} == {"mc", "tf", "fib"}
    scripted = Scripted(1.0, noise_format=0.5)
    items = {item.id: item for item in make_items(12, None, 1, report.SAFE_TASKS)}
    assert {sample.id for sample in logs[1].samples} == set(items)
    for sample in logs[1].samples:
        assert sample.metadata["output"] == scripted.answer(items[sample.id])
        assert sample.scores["evalkit"].value == report.grade(items[sample.id], sample.metadata["output"], "tolerant")
