"""Sizes of the chapter's runs at the three scales, one line of meaning a field."""

from dataclasses import dataclass, field


def _(default, text: str):
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Preset:
    """Everything that sets how long the chapter runs. Methods' own settings are chosen by `tuning`."""

    seeds: int = _(5, "seeds of every arm, counted from the notebook's parameter")
    n_train: int = _(8000, "Random Prototypes: training samples")
    n_test: int = _(2000, "Random Prototypes: test samples, and as many for validation")
    input_bits: int = _(1000, "Random Prototypes: bits of a sample")
    flip: float = _(0.46, "Random Prototypes: chance that a bit is flipped")
    widths: tuple[int, ...] = _((35, 75), "hidden widths of the comparison with the local rule and with QAT")
    depth: int = _(2, "hidden layers")
    epochs: int = _(12, "epochs of the MLPs")
    batch: int = _(100, "samples an update of the MLPs")
    gate_widths: tuple[int, ...] = _((35, 135), "hidden widths of the gate study")
    gate_nus: tuple[float, ...] = _((0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0), "gates of the MLP's gate study")
    gate_epochs: int = _(4, "epochs of the MLP's gate study")
    fashion_train: int = _(3500, "Fashion-MNIST: training images")
    fashion_val: int = _(500, "Fashion-MNIST: validation images")
    fashion_test: int = _(1000, "Fashion-MNIST: test images")
    fashion_width: int = _(35, "Fashion-MNIST: hidden width")
    series: int = _(10000, "time series used at most, of each set")
    rnn_width: int = _(135, "units of the RNN's input code, state and output")
    rnn_epochs: int = _(15, "epochs of the RNNs")
    rnn_nus: tuple[float, ...] = _((0.05, 0.1, 0.2, 0.4, 1.0), "gates of the RNN's gate study")
    ablation_seeds: int = _(3, "seeds of the ablation of the other settings, the first of all")
    schedule_patience: int = _(0, "epochs without progress before groups grow, in the ablation; 0: not run")
    groups: tuple[int, ...] = _((5, 15, 75), "group sizes of the ablation, beside the tuned one")
    live_widths: tuple[int, ...] = _((35, 75, 135, 255), "widths on the slider of the idea notebook")
    live_nus: tuple[float, ...] = _((0.02, 0.05, 0.1, 0.2, 0.5, 1.0), "gates on the slider of the idea notebook")
    live_train: int = _(3000, "training samples behind the slider")
    live_epochs: int = _(6, "epochs behind the slider")

    def __post_init__(self) -> None:
        """Raise ValueError, before anything runs, for sizes on which a claim could not be judged."""
        needed = {
            "seeds, epochs, gate_epochs, rnn_epochs and live_epochs are 1 or more": min(
                self.seeds, self.epochs, self.gate_epochs, self.rnn_epochs, self.live_epochs
            )
            >= 1,
            "0 <= ablation_seeds <= seeds": 0 < self.ablation_seeds <= self.seeds,
            "widths holds 75 and a narrower one first": 75 in self.widths and self.widths[0] < 75,
            "gate_widths holds 135 and a narrower one first": 135 in self.gate_widths and self.gate_widths[0] < 135,
            "gate_nus ascends from 0 to 1 with a gate between": sorted(self.gate_nus) == list(self.gate_nus)
            and {self.gate_nus[0], self.gate_nus[-1]} == {0, 1}
            and len(self.gate_nus) > 2,
            "rnn_nus ascends to 1 and holds 0.05 and 0.4": sorted(self.rnn_nus) == list(self.rnn_nus)
            and {0.05, 0.4} < set(self.rnn_nus)
            and self.rnn_nus[-1] == 1,
            "flip lies in [0, 0.5]": 0 <= self.flip <= 0.5,
        }
        if broken := [rule for rule, holds in needed.items() if not holds]:
            raise ValueError(f"preset: needs {'; '.join(broken)}")


PRESETS = {
    "smoke": Preset(
        seeds=1, n_train=500, n_test=200, input_bits=200, flip=0.4, widths=(35, 75), epochs=2, gate_epochs=2,
        gate_nus=(0.0, 0.2, 1.0), fashion_train=300, fashion_val=100, fashion_test=200, series=200, rnn_width=35,
        rnn_epochs=2, rnn_nus=(0.05, 0.4, 1.0), ablation_seeds=1, groups=(5, 15),
        schedule_patience=1,         live_widths=(35, 75),         live_nus=(0.05, 0.2), live_train=300, live_epochs=1,
    ),
    "book": Preset(),
    "full": Preset(
        seeds=10, n_train=20000, n_test=3000, widths=(35, 75, 135, 255, 525), epochs=50,
        gate_widths=(35, 75, 135, 255), gate_epochs=20, fashion_train=50000, fashion_val=10000, fashion_test=10000,
        rnn_width=1035, rnn_epochs=50, rnn_nus=(0.02, 0.05, 0.1, 0.2, 0.4, 1.0), ablation_seeds=10,
        schedule_patience=3,
    ),
}  # fmt: skip
