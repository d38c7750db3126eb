#!/usr/bin/env python3
"""Train a small network on scikit-learn's handwritten digits and export it: the model of examples/digits.

    python tools/digits/train.py [--out examples/digits]

digits.pt2           torch.export with a free batch of 1 to 1024; input f32[batch,1,8,8] of values 0 to 1, output f32[batch,10] logits
digits.safetensors   a case file (tools/corpus/README.md): in.0 16 images held out from training, out.0 PyTorch's logits,
                     and `label`, int64[16], the digits that they show

The data comes with scikit-learn. Seeds are fixed. Needs the pinned torch (tools/requirements/torch.txt).
"""
import argparse
import pathlib
import sys

import numpy as np
import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "corpus"))
import casefile  # noqa: E402
import casetorch  # noqa: E402

HELD_OUT = 360
SHOWN = 16


class Digits(nn.Module):
    """Two convolutions with batch norm, pooling, two linear layers."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(24 * 2 * 2, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 10))

    def forward(self, images):
        return self.classifier(self.features(images))


def data():
    """Images f32[n,1,8,8] and labels, the held out ones last."""
    from sklearn.datasets import load_digits
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = torch.from_numpy((digits.images[order] / 16).astype(np.float32)).unsqueeze(1)
    return images, torch.from_numpy(digits.target[order].astype(np.int64))


def train(model, images, labels, epochs=40):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    model.train()
    for _ in range(epochs):
        for batch in torch.randperm(len(images)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images[batch]), labels[batch]).backward()
            optimizer.step()
        schedule.step()
    return model.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "examples" / "digits")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    images, labels = data()
    seen, held_out = slice(None, -HELD_OUT), slice(-HELD_OUT, None)
    model = train(Digits(), images[seen], labels[seen])
    with torch.no_grad():
        accuracy = (model(images[held_out]).argmax(1) == labels[held_out]).float().mean().item()

    batch = torch.export.Dim("batch", min=1, max=1024)
    program = torch.export.export(model, (images[:2].clone(),), dynamic_shapes=({0: batch},), strict=False)
    places = {str(ROOT): "", str(pathlib.Path(torch.__file__).parents[1]): ""}
    for node in program.graph.nodes:                       # no path of this machine in the file
        for place, neutral in places.items():
            if node.meta.get("stack_trace"):
                node.meta["stack_trace"] = node.meta["stack_trace"].replace(place + "/", neutral)
    options.out.mkdir(parents=True, exist_ok=True)
    torch.export.save(program, str(options.out / "digits.pt2"))

    shown = images[held_out][:SHOWN]
    case = casetorch.record(torch.export.load(str(options.out / "digits.pt2")).module(), (shown,))
    case.tensors["label"] = casetorch.tensor(labels[held_out][:SHOWN])
    case.set(about="16 of scikit-learn's digits, held out from training", features=casetorch.features(program, case))
    casefile.write(str(options.out / "digits.safetensors"), case)
    right = int((casetorch.to_torch(case.tensors["out.0"]).argmax(1) == labels[held_out][:SHOWN]).sum())
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{parameters} parameters; right on {accuracy:.2%} of {HELD_OUT} held-out images, on {right} of the {SHOWN} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
