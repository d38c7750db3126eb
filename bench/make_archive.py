#!/usr/bin/env python3
"""Make a .pt2 archive of a recorded model (bench/models/NAME.tar.xz, by tools/bench/record.py) and pseudo-random weights.

    python3 bench/make_archive.py bench/models/resnet50.tar.xz build/bench/resnet50.pt2

The container is PyTorch's own: stored members, data at multiples of 64, sizes and checksums behind the data. Equal arguments
give equal bytes. Weights are streamed: no more than a few megabytes are held.
"""
import argparse
import json
import math
import os
import pathlib
import random
import struct
import sys
import tarfile
import zlib

ALIGNMENT = 64
PIECE = 1 << 20
POOL = 8 * PIECE
# Bytes of an element by PyTorch's ScalarType number in the file.
WIDTHS = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 2, 7: 4, 8: 8, 9: 4, 10: 8, 11: 16, 12: 1, 13: 2}
SIGNATURE, HAS_DESCRIPTOR, UTF8 = 0x04034B50, 0x0008, 0x0800


def random_pieces(generator, pool, size):
    """Pieces of a pool of random bytes, each from a random place: as good as random to every file system, and quick."""
    while size > 0:
        length = min(size, PIECE)
        start = generator.randrange(len(pool) - length + 1)
        yield pool[start:start + length]
        size -= length


def record_sizes(config):
    """{record: bytes}, in the order of the config: the furthest that any of its tensors reaches."""
    sizes = {}
    for entry in json.loads(config)["config"].values():
        meta = entry["tensor_meta"]
        dims = [(size["as_int"], stride["as_int"]) for size, stride in zip(meta["sizes"], meta["strides"])]
        last = meta["storage_offset"]["as_int"] + sum((size - 1) * stride for size, stride in dims)
        reached = (last + 1) * WIDTHS[meta["dtype"]] if math.prod(size for size, _ in dims) else 0
        sizes[entry["path_name"]] = max(sizes.get(entry["path_name"], 0), reached)
    return sizes


class Container:
    """Writes a zip as PyTorch does. All sizes and offsets have 32 bits here."""

    def __init__(self, out, root):
        self.out, self.root, self.entries, self.at = out, root, [], 0

    def put(self, data):
        self.out.write(data)
        self.at += len(data)

    def add(self, name, pieces):
        name = f"{self.root}/{name}".encode()
        offset = self.at
        padding = -(offset + 30 + len(name) + 4) % ALIGNMENT
        flags = UTF8 | HAS_DESCRIPTOR
        self.put(struct.pack("<IHHHHHIIIHH", SIGNATURE, 0, flags, 0, 0, 0, 0, 0, 0, len(name), 4 + padding))
        self.put(name + struct.pack("<2sH", b"FB", padding) + b"Z" * padding)
        crc, size = 0, 0
        for piece in pieces:
            crc = zlib.crc32(piece, crc)
            size += len(piece)
            self.put(piece)
        self.put(struct.pack("<IIII", 0x08074B50, crc, size, size))
        self.entries.append((name, flags, crc, size, offset))

    def finish(self):
        directory, count = self.at, len(self.entries)
        for name, flags, crc, size, offset in self.entries:
            self.put(struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 0, 0, flags, 0, 0, 0, crc, size, size, len(name), 0, 0, 0, 0, 0, offset))
            self.put(name)
        length, end = self.at - directory, self.at
        self.put(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 0x031E, 45, 0, 0, count, count, length, directory))
        self.put(struct.pack("<IIQI", 0x07064B50, 0, end, 1))
        self.put(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, length, directory, 0))


def make_archive(skeleton, target, seed=0):
    """Writes `target`; returns the bytes of its weights."""
    with tarfile.open(skeleton) as tar:
        text = {name: tar.extractfile(name).read() for name in ("model.json", "weights.json", "constants.json")}
    generator = random.Random(seed)
    pool = memoryview(generator.randbytes(POOL))
    total = 0
    with open(target, "wb", buffering=PIECE) as out:
        container = Container(out, pathlib.Path(target).stem)
        for kind in ("weights", "constants"):
            for record, size in record_sizes(text[f"{kind}.json"]).items():
                container.add(f"data/{kind}/{record}", random_pieces(generator, pool, size))
                total += size
            container.add(f"data/{kind}/model_{kind}_config.json", [text[f"{kind}.json"]])
        container.add("models/model.json", [text["model.json"]])
        container.add("data/sample_inputs/model.pt", [])           # PyTorch wants the member, not its content
        for name, value in (("archive_format", b"pt2"), ("archive_version", b"0"), (".data/version", b"6\n"),
                            ("byteorder", b"little"), (".data/serialization_id", b"0" * 40)):
            container.add(name, [value])
        container.finish()
        out.flush()
        os.fsync(out.fileno())
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skeleton")
    parser.add_argument("target")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    pathlib.Path(options.target).parent.mkdir(parents=True, exist_ok=True)
    total = make_archive(options.skeleton, options.target, options.seed)
    print(f"{options.target}: {total / 1e6:.1f} MB of weights")
    return 0


if __name__ == "__main__":
    sys.exit(main())
