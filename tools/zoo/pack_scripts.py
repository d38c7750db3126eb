#!/usr/bin/env python3
"""Packs TorchScript files of the zoo for the tests: NAME.pt or NAME.ts.pt and NAME.safetensors.

    python tools/zoo/pack_scripts.py FOLDER PACK.tar.xz NAME...

The sources that their debug ranges name lie under /py (packages) and /src (this repository), whatever machine made them; members are stored,
which the pack compresses better than what each file had deflated.
"""
import io
import pathlib
import pickle
import re
import shutil
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "corpus"))
import pack  # noqa: E402


class Plain(pickle.Unpickler):
    """Lists of numbers, which PyTorch makes by functions of its own, and nothing else."""

    def find_class(self, module, name):
        if module == "torch.jit._pickle" and name.startswith("build_"):
            return list
        raise pickle.UnpicklingError(f"{module}.{name}")


def neutral(value):
    if isinstance(value, str):
        return re.sub(r"/[^\s\"]*/tools/zoo/", "/src/tools/zoo/", re.sub(r"/[^\s\"]*/site-packages/", "/py/", value))
    if isinstance(value, (tuple, list)):
        return type(value)(neutral(v) for v in value)
    return value


def rewritten(source, target):
    """The archive with the same members in the same order."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as new:
        for member in old.infolist():
            data = old.read(member)
            if member.filename.endswith(".debug_pkl"):
                data = pickle.dumps(neutral(Plain(io.BytesIO(data)).load()), protocol=2)
            new.writestr(zipfile.ZipInfo(member.filename), data)  # time 1980


def main():
    folder, target, names = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            for ending in (".pt", ".ts.pt"):
                if (folder / (name + ending)).exists():
                    rewritten(folder / (name + ending), pathlib.Path(scratch) / (name + ending))
            shutil.copy(folder / (name + ".safetensors"), scratch)
        number, plain, packed = pack.pack(scratch, target)
    print(f"{target}: {number} files, {plain / 1e6:.2f} MB in {packed / 1e6:.3f} MB")


if __name__ == "__main__":
    main()
