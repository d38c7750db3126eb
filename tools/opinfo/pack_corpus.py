#!/usr/bin/env python3
"""Pack a corpus of make_corpus.py into TARGET/PREFIX<profile>.tar.xz, one pack for each profile.

    python tools/opinfo/pack_corpus.py CORPUS tests/data/opinfo [--prefix wide_]

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
    parser.add_argument("--prefix", default="")
    options = parser.parse_args()
    names = collections.defaultdict(set)
    for case in json.loads((options.corpus / "index.json").read_text())["cases"]:
        if case["status"] == "ok":
            names[case["profile"]].add(case["name"])
    for profile, of_profile in sorted(names.items()):
        target = options.target / f"{options.prefix}{profile}.tar.xz"
        number, plain, packed = pack.pack(options.corpus / "cases", target, names=of_profile)
        print(f"{target}: {number} files, {plain / 1e6:.2f} MB in {packed / 1e6:.3f} MB")


if __name__ == "__main__":
    main()
