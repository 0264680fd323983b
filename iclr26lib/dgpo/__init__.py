"""Direct group preference optimisation of flow models (Luo, Hu and Tang, ICLR 2026).

`method` holds the advantages and the loss; `trainer` the loop, `config` its settings; `baselines` online Diffusion-DPO
and Flow-GRPO; `ring`, `blobs` and `digits` the tasks; `optimise` the use with a reward of your own. Models, samplers
and streams of randomness are those of `iclr26lib.flows`.
"""

from ..flows import ode_sample, sde_sample, shifted_grid
from .baselines import DPOTrainer, FlowGRPOTrainer, dpo_pair_loss, grpo_step_loss
from .blobs import CountBlobs
from .config import Config
from .method import (
    dgpo_loss,
    dsm_loss,
    flow_noise,
    group_advantages,
    group_gap,
    implicit_rewards,
    ppo_mask,
    timestep_weight,
)
from .ring import PromptedRing, tilted_mass
from .trainer import DGPOTrainer

__all__ = [
    "Config",
    "CountBlobs",
    "DGPOTrainer",
    "DPOTrainer",
    "FlowGRPOTrainer",
    "PromptedRing",
    "dgpo_loss",
    "dpo_pair_loss",
    "dsm_loss",
    "flow_noise",
    "group_advantages",
    "group_gap",
    "grpo_step_loss",
    "implicit_rewards",
    "ode_sample",
    "ppo_mask",
    "sde_sample",
    "shifted_grid",
    "tilted_mass",
    "timestep_weight",
]
