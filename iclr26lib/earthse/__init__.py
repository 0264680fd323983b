"""EarthSE-style evaluation: what does an Earth-science benchmark measure? (Xu and others, ICLR 2026.)

`laws` is the bank of laws, `items` makes questions of it, `prompts` puts them; `graders` holds the published rules and
tolerant ones; `gold` and `dialogues` the open dialogues, `ses` and `exploration` their scores, `judge` who ranks them;
`screening` the choice of hard items; `scripted` and `baselines` models of known skill; `official` reads the paper's own
data; `report` evaluates a model of yours. Running models is the business of `iclr26lib.evalkit`.
"""

from .gold import make_gold
from .graders import grade
from .items import make_items
from .judge import judge_prompt, semantic_similarity, win_rate
from .laws import LAWS
from .official import OfflineError, load_official
from .prompts import hints, prompt
from .screening import screen
from .scripted import Scripted
from .ses import diversity, retention

__all__ = [
    "LAWS",
    "OfflineError",
    "Scripted",
    "diversity",
    "grade",
    "hints",
    "judge_prompt",
    "load_official",
    "make_gold",
    "make_items",
    "prompt",
    "retention",
    "screen",
    "semantic_similarity",
    "win_rate",
]
