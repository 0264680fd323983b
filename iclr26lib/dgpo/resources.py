"""What a notebook of the chapter needs at each scale; the preset fields that count seeds."""

from iclr26lib.resources import Resources

RESOURCES = {
    "smoke": Resources(threads=1, memory_mb=2000, minutes=0.5),
    "book": Resources(threads=2, memory_mb=4000, minutes=5),
    "full": Resources(threads=4, memory_mb=24000, minutes=12, gpu=True),
}
ONE_SEED = {"seeds": 1, "sweep_seeds": 1, "blobs_seeds": 1}
