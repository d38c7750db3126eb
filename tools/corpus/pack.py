#!/usr/bin/env python3
"""Pack a folder of case files into one .tar.xz, the same bytes for the same files.

    python tools/corpus/pack.py FOLDER PACK.tar.xz [--only REGEX]

Programs that are alike compress very well together: all of PyTorch's operator cases fit into a few hundred kilobytes.
ctest unpacks with `cmake -E tar xf PACK.tar.xz`, so no Python is needed to test. Files are packed without folders.
"""
import argparse
import io
import lzma
import os
import pathlib
import re
import sys
import tarfile

SUFFIXES = (".pt2", ".pt", ".safetensors")


def order(path):
    """Programs of one kind side by side, so that the compressor sees what they share."""
    return path.suffix, path.name


def pack(folder, target, only="", names=None):
    """Of the files that fit the regular expression, and of the cases in names if given.
    -> (number of files, their bytes, bytes of the pack)."""
    files = sorted((f for f in pathlib.Path(folder).iterdir() if f.name.endswith(SUFFIXES) and re.search(only, f.name)
                    and (names is None or f.name.partition(".")[0] in names)), key=order)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in files:
            info = tarfile.TarInfo(path.name)             # mode 0644, owner 0, time 0
            data = path.read_bytes()
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    packed = lzma.compress(plain.getvalue(), check=lzma.CHECK_CRC32, preset=9 | lzma.PRESET_EXTREME)
    target = pathlib.Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    partial.write_bytes(packed)
    partial.replace(target)
    return len(files), len(plain.getvalue()), len(packed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("pack")
    parser.add_argument("--only", default="", help="regular expression on the file's name")
    options = parser.parse_args()
    number, plain, packed = pack(options.folder, options.pack, options.only)
    print(f"{options.pack}: {number} files, {plain / 1e6:.2f} MB in {packed / 1e6:.3f} MB")
    return 0 if number else 1


if __name__ == "__main__":
    sys.exit(main())
