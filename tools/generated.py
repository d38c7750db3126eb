"""The command line of the tools that write one file below data/ from PyTorch."""
import argparse
import pathlib


def write_or_check(doc, name, lines):
    """Write the lines to data/NAME, or elsewhere (--out), or compare (--check). -> the exit code."""
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=root / "data" / name)
    parser.add_argument("--check", action="store_true", help="exit 1 if the file is not what would be written")
    options = parser.parse_args()
    text = "\n".join(lines) + "\n"
    if options.check:
        return 0 if options.out.read_text() == text else 1
    options.out.write_text(text)
    return 0
