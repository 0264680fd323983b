"""__TITLE__ (ICLR 2026). TO WRITE: one line on what the package holds."""

from .method import compare, noisy, running_mean, step

__all__ = ["compare", "noisy", "running_mean", "step"]
