"""Binary Error Propagation: training binary networks with binary errors (Colombo et al., ICLR 2026).

`method` holds the algorithm, one function an equation; `models` and `rnn` the networks; `frame` the prototypes; `bits`
the same step on packed bits; `coding` turns data into -1 and +1; `baselines` what it is compared with.
"""

from .bits import pack, unpack, xnor_dot
from .coding import expand, median_binarize, random_prototypes, thermometer
from .frame import binary_frame, frame_cost, random_frame
from .method import (
    BinaryLayer,
    desired_activations,
    forward,
    gate_threshold,
    integer_only,
    reinforce_,
    reinforcement_probability,
    sign,
    triggered,
    update_,
    winner_mask,
)
from .models import BEPMLP, GroupSchedule, LocalRuleMLP
from .rnn import BEPRNN

__all__ = [
    "BEPMLP",
    "BEPRNN",
    "BinaryLayer",
    "GroupSchedule",
    "LocalRuleMLP",
    "binary_frame",
    "desired_activations",
    "expand",
    "forward",
    "frame_cost",
    "gate_threshold",
    "integer_only",
    "median_binarize",
    "pack",
    "random_frame",
    "random_prototypes",
    "reinforce_",
    "reinforcement_probability",
    "sign",
    "thermometer",
    "triggered",
    "unpack",
    "update_",
    "winner_mask",
    "xnor_dot",
]
