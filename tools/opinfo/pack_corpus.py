#!/usr/bin/env python3
"""Pack a corpus of make_corpus.py into TARGET/PROFILE.tar.xz, one pack for each profile, or with --name all into NAME.tar.xz.

    python tools/opinfo/pack_corpus.py CORPUS tests/data/opinfo [--name wide]

ctest runs `small` always and the others where they are asked for (`make check-operators`). PACK.known beside a pack lists
the cases that are refused today, and why (tests/cases/judge.cpp).
"""
import argparse
import collections
import json
import os
import pathlib
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus"))
import pack  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("target", type=pathlib.Path)
    parser.add_argument("--name")
    options = parser.parse_args()
    names = collections.defaultdict(set)
    for case in json.loads((options.corpus / "index.json").read_text())["cases"]:
        if case["status"] == "ok":
            names[options.name or case["profile"]].add(case["name"])
    for name, of_pack in sorted(names.items()):
        target = options.target / f"{name}.tar.xz"
        number, plain, packed = pack.pack(options.corpus / "cases", target, names=of_pack)
        print(f"{target}: {number} files, {plain / 1e6:.2f} MB in {packed / 1e6:.3f} MB")


if __name__ == "__main__":
    main()
