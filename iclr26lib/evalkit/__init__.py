"""Evaluate language models: items, adapters, runs, graders, intervals. Shared by the chapters on benchmarks."""

from .adapters import AdapterError, FunctionModel, Message, ModelAdapter
from .cache import AnswerCache
from .caller import BudgetExceeded, CallFailed
from .graders import Judge, exact, grade_all, judge_messages, parse_verdict, scores_of, untrusted
from .intervals import MeanInterval, coverage, mean_ci, paired_diff_ci, wilson
from .items import FORMATS, LETTERS, Item, Record, read_items, read_records, unique, write_items, write_records
from .run import count_calls, run, run_simple
from .solvers import ask, choose, plain_prompt, two_turns

__all__ = [
    "FORMATS",
    "LETTERS",
    "AdapterError",
    "AnswerCache",
    "BudgetExceeded",
    "CallFailed",
    "FunctionModel",
    "Item",
    "Judge",
    "MeanInterval",
    "Message",
    "ModelAdapter",
    "Record",
    "ask",
    "choose",
    "count_calls",
    "coverage",
    "exact",
    "grade_all",
    "judge_messages",
    "mean_ci",
    "paired_diff_ci",
    "parse_verdict",
    "plain_prompt",
    "read_items",
    "read_records",
    "run",
    "run_simple",
    "scores_of",
    "two_turns",
    "unique",
    "untrusted",
    "wilson",
    "write_items",
    "write_records",
]
