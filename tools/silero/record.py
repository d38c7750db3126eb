#!/usr/bin/env python3
"""Records what silero-vad's voice detector gives, for tests/data/silero. Needs the pinned torch.

    tools/setup --silero
    python tools/silero/record.py [--model .deps/silero/silero_vad/data/silero_vad.jit] [--out tests/data/silero]

sr16000.stepS, sr8000.stepS.safetensors: forward(chunk, rate) on three chunks in a row, the first on a freshly loaded program,
whose state stays. The sound is made here: a voiced vowel that swells and fades over noise.
"""
import argparse
import math
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "corpus"))
import casefile  # noqa: E402
import casetorch  # noqa: E402

CHUNKS = 3


def sound(rate, samples):
    """A vowel: harmonics of 120 Hz under three formants, with a little noise; f32[1, samples]."""
    torch.manual_seed(0)
    t = torch.arange(samples, dtype=torch.float64) / rate
    wave = torch.zeros_like(t)
    for k in range(1, int(0.45 * rate / 120)):
        f = 120.0 * k
        gain = sum(a / (1 + ((f - c) / w) ** 2) for c, w, a in ((700, 90, 1.0), (1220, 110, 0.5), (2600, 160, 0.25)))
        wave += gain * torch.sin(2 * math.pi * f * t * (1 + 0.01 * torch.sin(2 * math.pi * 5 * t)) + k)
    swell = torch.sin(math.pi * (torch.arange(samples, dtype=torch.float64) + 0.5) / samples)
    return (0.1 * wave * swell + 0.003 * torch.randn(samples, dtype=torch.float64)).float()[None]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--model", type=pathlib.Path, default=ROOT / ".deps/silero/silero_vad/data/silero_vad.jit")
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "tests/data/silero")
    a = p.parse_args()
    torch.set_num_threads(1)
    a.out.mkdir(parents=True, exist_ok=True)
    for rate, size in ((16000, 512), (8000, 256)):
        model = torch.jit.load(a.model, map_location="cpu").eval()
        wave = sound(rate, CHUNKS * size)
        for step in range(CHUNKS):
            case = casetorch.record(model, (wave[:, step * size:(step + 1) * size], rate), state=dict)
            case.set(features=["control_flow", "state"], source="silero-vad 6.2.3, silero_vad.jit (MIT)")
            casefile.write(str(a.out / f"sr{rate}.step{step}.safetensors"), case)
            print(rate, step, case.tensors["out.0"].raw.ravel())


if __name__ == "__main__":
    main()
