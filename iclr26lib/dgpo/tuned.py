"""Written by `python -m iclr26lib.dgpo.tuning`: case -> [({settings}, mean reward over the looks)]."""

# fmt: off
TUNED = {}
