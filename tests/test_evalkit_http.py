"""The adapter for endpoints, against a server on this machine that misbehaves in every way we could think of."""

import json
import logging
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from iclr26lib import evalkit
from iclr26lib.evalkit import AdapterError, Item
from iclr26lib.evalkit.openai_compatible import OpenAICompatible

KEY = "sk-test-0123456789abcdef"
ASK = [{"role": "user", "content": "Hello?"}]


def reply(text, **more):
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, **more}]}


def ok(text="fine"):
    return lambda handler: handler.send(200, json.dumps(reply(text)))


def status(code, body="", **headers):
    return lambda handler: handler.send(code, body, {k.replace("_", "-"): v for k, v in headers.items()})


def raw(body):
    return lambda handler: handler.send(200, body)


def cut_body(handler):
    handler.send(200, '{"choices": [{"mess', {"Content-Length": "5000"})
    handler.close_connection = True


def reset(handler):
    handler.close_connection = True  # no reply at all


def slow(handler):
    time.sleep(0.3)
    ok("late")(handler)


def dripping(handler):
    handler.send(200, "", {"Content-Length": "1000"})
    for _ in range(10):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.04)


def events(*pieces, end="data: [DONE]\n\n", finish=None):
    lines = [f"data: {json.dumps({'choices': [{'delta': {'content': p}, 'finish_reason': None}]})}\n\n" for p in pieces]
    if finish:
        lines.append(f"data: {json.dumps({'choices': [{'delta': {}, 'finish_reason': finish}]})}\n\n")
    return raw(": comment\n\n" + "".join(lines) + end)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, body, self.headers.get("Authorization")))
        script = self.server.script
        step = script.pop(0) if len(script) > 1 else script[0]
        try:
            step(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def send(self, code, body, headers=None):
        content = body.encode() if isinstance(body, str) else body
        headers = {"Content-Length": str(len(content)), **(headers or {})}
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        """Nothing on the screen."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Clients that hang up are part of the tests."""


@pytest.fixture
def server():
    made = Server(("127.0.0.1", 0), Handler)
    made.seen, made.script, made.waits = [], [ok()], []
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def endpoint(server, monkeypatch):
    """Make an adapter for the server, whose replies are those of a script; the last one is repeated."""
    monkeypatch.setenv("TEST_KEY", KEY)
    made = []

    def make(*script, **settings):
        server.script[:] = script or [ok()]
        settings = {"api_key_env": "TEST_KEY", "timeout": 5, "sleep": server.waits.append, **settings}
        made.append(OpenAICompatible(f"http://127.0.0.1:{server.server_port}/v1/", "tiny", **settings))
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()


def test_a_request_says_what_was_asked(endpoint, server):
    model = endpoint(ok("Grüße ✓"), extra={"top_p": 0.5})
    assert model.generate(ASK, temperature=0.6, max_tokens=9, seed=3) == "Grüße ✓"
    path, body, key = server.seen[0]
    assert path == "/v1/chat/completions"
    assert key == f"Bearer {KEY}"
    assert body == {
        "model": "tiny", "messages": ASK, "temperature": 0.6, "max_tokens": 9, "seed": 3, "stream": False, "top_p": 0.5,
    }  # fmt: skip
    assert isinstance(model, evalkit.ModelAdapter)


def test_kept_answers_of_one_name_at_two_addresses_are_told_apart(endpoint, tmp_path):
    asked = [evalkit.Item("i", "f", "Why?", "x", "fr")]
    one, warm = endpoint(ok("one")), endpoint(ok("one"), extra={"top_p": 0.5})
    far = OpenAICompatible("http://localhost:9/v1", "tiny", "TEST_KEY")
    assert len({one.cache_key, warm.cache_key, far.cache_key}) == 3
    assert KEY not in one.cache_key
    again = OpenAICompatible(one.base_url + "/", "tiny", "OTHER_KEY")
    assert again.cache_key == one.cache_key
    for engine in ("simple", "inspect"):
        told = {"engine": engine, "cache": tmp_path / engine}
        assert evalkit.run(asked, endpoint(ok("one")), **told)[0].output == "one"
        assert evalkit.run(asked, endpoint(ok("two")), **told, max_calls=0)[0].output == "one"
        assert evalkit.run(asked, endpoint(ok("two"), extra={"top_p": 0.5}), **told)[0].output == "two"
        assert len(list((tmp_path / engine).iterdir())) == 2
    again.close()
    far.close()


@pytest.mark.parametrize("name", [KEY, "", "1A", "A B", "É", "A\n", None])
def test_a_key_in_place_of_its_variables_name_is_not_repeated(name):
    with pytest.raises(ValueError, match="api_key_env must be the name") as caught:
        OpenAICompatible("http://localhost:1/v1", "tiny", name)
    assert KEY not in str(caught.value)


def test_without_a_key_none_is_sent(endpoint, server, monkeypatch):
    model = endpoint()
    for value in ("", "  "):
        monkeypatch.setenv("TEST_KEY", value)
        assert model.generate(ASK) == "fine"
    monkeypatch.delenv("TEST_KEY")
    assert model.generate(ASK) == "fine"
    assert [key for *_, key in server.seen] == [None] * 3


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (status(500, "boom"), "HTTP 500 boom"),
        (status(503), "HTTP 503"),
        (status(429, "slow down"), "HTTP 429 slow down"),
        (raw('{"choices": [{"mess'), "malformed JSON"),
        (raw("[" * 100_000), "malformed JSON"),
        (raw(b"\xff\xfe"), "malformed JSON"),
        (cut_body, "RemoteProtocolError"),
        (reset, "RemoteProtocolError"),
        (lambda h: h.send(200, b"not gzip", {"Content-Encoding": "gzip"}), "DecodingError"),
    ],
)
def test_trouble_that_may_pass_is_tried_again(endpoint, server, trouble, words):
    assert endpoint(trouble, trouble, ok("at last")).generate(ASK) == "at last"
    assert server.waits == [0.5, 1.0]
    with pytest.raises(AdapterError, match=r"tiny gave no answer; try 1: .*; try 2: .*; try 3: ") as caught:
        endpoint(trouble).generate(ASK)
    assert str(caught.value).count(words) == 3
    assert len(server.seen) == 6
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"Retry_After": "100000"}, 60.0),
        ({"Retry_After": "-3"}, 0.0),
        ({"Retry_After": "soon"}, 0.5),
        ({"Retry_After": "nan"}, 0.5),
        ({"Retry_After": "Tue, 01 Jan 2019 00:00:00 GMT"}, 0.0),
        ({"Retry_After": "Fri, 01 Jan 2999 00:00:00 GMT"}, 60.0),
    ],
)
def test_retry_after_is_honoured_up_to_a_minute(endpoint, server, headers, wait):
    assert endpoint(status(429, **headers), ok()).generate(ASK) == "fine"
    assert server.waits == [wait]


def test_retry_after_may_be_a_date(endpoint, server):
    assert endpoint(status(429, Retry_After=formatdate(time.time() + 40, usegmt=True)), ok()).generate(ASK) == "fine"
    assert 10 < server.waits[0] <= 40


def test_a_time_out_is_tried_again_and_a_dripping_reply_ends(endpoint):
    assert endpoint(slow, ok("in time"), timeout=0.15).generate(ASK) == "in time"
    assert endpoint(dripping, ok("in time"), timeout=0.15).generate(ASK) == "in time"
    with pytest.raises(AdapterError, match="ReadTimeout"):
        endpoint(slow, timeout=0.1, tries=1).generate(ASK)
    with pytest.raises(AdapterError, match="longer than the time-out"):
        endpoint(dripping, timeout=0.15, tries=1).generate(ASK)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (status(400, "bad request"), "HTTP 400 bad request"),
        (status(401, "who are you"), "HTTP 401 who are you; is the right key in TEST_KEY"),
        (status(404), "HTTP 404"),
        (status(302, Location="http://127.0.0.1:1/elsewhere"), "HTTP 302"),
        (raw("{}"), "the reply has no choices.0.message.content: {}"),
        (raw("[]"), "the reply has no choices"),
        (raw('{"choices": []}'), "the reply has no choices"),
        (raw('{"choices": {"0": 1}}'), "the reply has no choices"),
        (raw(json.dumps(reply(None))), "must be a text, got NoneType"),
        (raw(json.dumps(reply(["a"]))), "must be a text, got list"),
        (raw(json.dumps({"error": {"message": "out of credit"}})), "out of credit"),
    ],
)
def test_what_will_not_pass_is_not_tried_again(endpoint, server, answer, words):
    with pytest.raises(AdapterError) as caught:
        endpoint(answer).generate(ASK)
    assert words in str(caught.value)
    assert (len(server.seen), server.waits) == (1, [])


def test_huge_answers_pass_up_to_a_limit(endpoint):
    assert len(endpoint(ok("x" * 1_000_000)).generate(ASK)) == 1_000_000
    with pytest.raises(AdapterError, match="longer than 10000000 bytes"):
        endpoint(ok("x" * 11_000_000)).generate(ASK)


def test_nobody_there():
    model = OpenAICompatible("http://127.0.0.1:9/v1", "tiny", timeout=2, tries=2, sleep=lambda seconds: None)
    with pytest.raises(AdapterError, match=r"try 1: ConnectError.*try 2: ConnectError"):
        model.generate(ASK)


def test_a_stream_is_put_together(endpoint, server):
    assert endpoint(events("Gr", "", "üße"), stream=True).generate(ASK) == "Grüße"
    assert endpoint(events("a", "b", end="", finish="stop"), stream=True).generate(ASK) == "ab"
    usage = 'data: {"choices": [], "usage": {"total_tokens": 3}}\n\ndata: [DONE]\n\n'
    assert endpoint(events("a", end=usage), stream=True).generate(ASK) == "a"
    assert server.seen[0][1]["stream"] is True


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("", "the stream was cut after 2 characters"),
        ('data: {"choices": [{"del', "malformed JSON"),
        ('data: {"choices": [{"delta": {"content": "c"}}]}', "the stream was cut after 3 characters"),
    ],
)
def test_a_stream_cut_half_way_is_tried_again(endpoint, end, words):
    assert endpoint(events("a", "b", end=end), events("whole"), stream=True).generate(ASK) == "whole"
    with pytest.raises(AdapterError, match=words):
        endpoint(events("a", "b", end=end), stream=True).generate(ASK)


def test_a_stream_of_another_shape_is_refused(endpoint, server):
    with pytest.raises(AdapterError, match="overloaded"):
        endpoint(raw('data: {"error": "overloaded"}\n\n'), stream=True).generate(ASK)
    assert len(server.seen) == 1


def test_likelihoods_of_choices(endpoint):
    top = [{"token": " A", "logprob": -1.0}, {"token": "A", "logprob": -2.0}, {"token": "B", "logprob": -3}]
    told = {"logprobs": {"content": [{"token": "A", "top_logprobs": top}]}}
    model = endpoint(raw(json.dumps(reply("A", **told))))
    assert np.allclose(model.choice_logprobs(ASK, ["B", "A"]), [-3, np.log(np.exp(-1) + np.exp(-2))])
    assert model.choice_logprobs(ASK, ["A", "C"]) is None
    assert endpoint(ok()).choice_logprobs(ASK, ["A", "B"]) is None
    odd = {"logprobs": {"content": [{"top_logprobs": [{"token": "A", "logprob": "x"}]}]}}
    with pytest.raises(AdapterError, match="must be a number, got 'x'"):
        endpoint(raw(json.dumps(reply("A", **odd)))).choice_logprobs(ASK, ["A"])


def test_the_key_appears_nowhere(endpoint, server, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    leaks = [
        ok(f"your key is {KEY}!"),
        status(401, f"wrong key {KEY}"),
        status(500, "x" * (200 - len(KEY) // 2) + KEY),  # cut in the middle of the key
        raw(f"{KEY} is no JSON"),
        raw(json.dumps({"error": f"Bearer {KEY}"})),
        reset,
    ]
    items = [Item("i0", "f", "Question?", "x", "fr")]
    seen = []
    for leak in leaks:
        model = endpoint(leak)
        records = evalkit.run(items, model, cache=tmp_path / str(len(seen)))
        evalkit.write_records(tmp_path / f"{len(seen)}.jsonl", records)
        seen.append(f"{records} {model!r} {vars(model)}")
    with pytest.raises(AdapterError) as caught:
        endpoint(leaks[1]).generate(ASK)
    seen += [str(caught.value), repr(caught.value), caplog.text, *capfd.readouterr()]
    seen += [path.read_text() for path in tmp_path.rglob("*.jsonl")]
    assert all(key == f"Bearer {KEY}" for *_, key in server.seen)
    assert "your key is [key]!" in seen[0]
    assert not [text for text in seen if KEY in text or KEY[: len(KEY) // 2] in text]


def test_a_key_that_no_header_can_hold_is_not_shown(endpoint, server, monkeypatch):
    for key in (f"{KEY}\nX-Evil: 1", f"{KEY}ü"):
        monkeypatch.setenv("TEST_KEY", key)
        with pytest.raises(AdapterError, match="TEST_KEY holds a character that no header can hold") as caught:
            endpoint().generate(ASK)
        assert KEY not in repr(caught.value)
    assert server.seen == []


def test_a_stand_in_for_a_key_changes_no_answer(endpoint, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "EMPTY")
    assert endpoint(ok("the EMPTY set")).generate(ASK) == "the EMPTY set"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"base_url": "ftp://x/v1"}, "http:// or https://"),
        ({"base_url": "localhost:8000"}, "http:// or https://"),
        ({"base_url": f"https://me:{KEY}@x/v1"}, "no user name, password or query"),
        ({"base_url": f"https://x/v1?key={KEY}"}, "no user name, password or query"),
        ({"model": ""}, "model must not be empty"),
        ({"tries": 0}, "tries >= 1"),
        ({"timeout": 0}, "timeout > 0"),
    ],
)
def test_bad_settings_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words) as caught:
        OpenAICompatible(**{"base_url": "http://x/v1", "model": "m", **arguments})
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("messages", "error", "words"),
    [
        ([], ValueError, "must not be empty"),
        ("hello", TypeError, "list of dicts"),
        ([{"role": "user"}], ValueError, "keys role and content"),
        ([{"role": "robot", "content": "x"}], ValueError, "system, user, assistant, got 'robot'"),
        ([{"role": "user", "content": 3}], TypeError, "text or a list of parts, got int"),
    ],
)
def test_bad_messages_are_refused_before_anything_is_sent(endpoint, server, messages, error, words):
    with pytest.raises(error, match=words):
        endpoint().generate(messages)
    assert server.seen == []
