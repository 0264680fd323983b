"""Sizes of the chapter's runs at the three scales, one line of meaning a field."""

from dataclasses import dataclass, field


def _(default, text: str):
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Preset:
    """Everything that sets how long the chapter runs."""

    seeds: int = _(5, "seeds, counted from the notebook's parameter; each makes its own items and models")
    reps: int = _(400, "replications a seed for the coverage of intervals")
    laws: int = _(24, "families of the coverage runs")
    per_law: int = _(50, "items a family of the coverage runs")
    items: int = _(1200, "questions a seed, in equal parts multiple choice, true or false and fill in the blank")
    hinted: int = _(300, "fill-in-the-blank questions a seed for the hints")
    gold: int = _(40, "dialogues a seed, at most 320")
    draws: int = _(2000, "bootstrap draws")
    embedder: str = _("minilm", "sentence embeddings: 'minilm' (all-MiniLM-L6-v2, as the paper) or 'hash' (of words)")
    real_items: int = _(48, "multiple choice questions for the real model, by likelihood of letters; 0 leaves it out")
    real_answers: int = _(8, "further questions for which the real model writes an answer")
    real_tokens: int = _(24, "tokens of such an answer, at most")
    real_gold: int = _(0, "dialogues that the real model writes, three samples each")
    live_cosines: tuple[float, ...] = _((0.7, 0.75, 0.8, 0.85, 0.95, 1.0), "cosines on the slider of the idea notebook")
    live_thresholds: int = _(11, "thresholds on the slider of the idea notebook")

    def __post_init__(self) -> None:
        """Raise ValueError, before anything runs, for sizes on which nothing could be judged."""
        needed = {
            "seeds, reps, hinted and draws are 1 or more": min(self.seeds, self.reps, self.hinted, self.draws) >= 1,
            "laws and per_law are 2 or more": min(self.laws, self.per_law) >= 2,
            "items is 12 or more": self.items >= 12,
            "1 <= gold <= 320 and 0 <= real_gold <= 320": 1 <= self.gold <= 320 and 0 <= self.real_gold <= 320,
            "embedder is 'minilm' or 'hash'": self.embedder in ("minilm", "hash"),
            "real_items, real_answers are 0 or more, real_tokens 1 or more": min(self.real_items, self.real_answers)
            >= 0
            and self.real_tokens >= 1,
            "at most 24 frames a figure": 2 <= len(self.live_cosines) <= 6 and 2 <= self.live_thresholds <= 24,
        }
        if broken := [rule for rule, holds in needed.items() if not holds]:
            raise ValueError(f"preset: needs {'; '.join(broken)}")


PRESETS = {
    "smoke": Preset(
        seeds=1, reps=20, laws=8, per_law=8, items=48, hinted=24, gold=8, draws=200, embedder="hash", real_items=0,
        real_answers=0, live_cosines=(0.7, 0.85), live_thresholds=3,
    ),
    "book": Preset(),
    "full": Preset(
        seeds=20, items=4133, hinted=769, gold=300, real_items=818, real_answers=400, real_tokens=64, real_gold=20,
    ),
}  # fmt: skip
