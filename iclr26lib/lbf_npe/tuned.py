"""Written by `python -m iclr26lib.lbf_npe.tuning`: case -> [(learning rate, held-out NLL or KL, nats)]."""

# fmt: off
TUNED = {}
