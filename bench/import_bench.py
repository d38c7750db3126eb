#!/usr/bin/env python3
"""Time and memory of `torchlift import`, beside a plain copy of the same archive.

    python3 bench/import_bench.py [NAME ...] [--torchlift build/release/bin/torchlift] [--page docs/performance.md]

For each model of bench/models an archive with random weights is made below build/bench; then copy and import take turns, with the
archive in the page cache and nothing waiting to be written, and medians are compared:

    copy      cp --reflink=never ARCHIVE COPY && sync COPY
    import    torchlift import ARCHIVE -o BUNDLE        it syncs what it writes, too

Bounds: an import takes at most 1.5 times the copy plus 0.3 s, and holds at most 128 MiB of anonymous memory (RssAnon, sampled every
5 ms). Exit code 1 if one is passed. Needs about 3 times the largest archive (2 GB) of disk; all of it is removed at the end.
"""
import argparse
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
import make_archive  # noqa: E402

FACTOR, CONSTANT_S, ANONYMOUS_MIB = 1.5, 0.3, 128
SAMPLE_S = 0.005
BEGIN, END = "<!-- import: begin, by `make bench` -->", "<!-- import: end -->"


class Run:
    """One command: wall and processor seconds, peak of anonymous memory in MiB."""

    def __init__(self, *command):
        command = [str(part) for part in command]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.anonymous, self.samples = 0.0, 0
        ended = threading.Event()
        sampler = threading.Thread(target=self.sample, args=(process.pid, ended))
        sampler.start()
        _, status, usage = os.wait4(process.pid, 0)
        self.wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        ended.set()
        sampler.join()
        self.processor = usage.ru_utime + usage.ru_stime
        if process.returncode != 0:
            sys.exit(f"import_bench: exit code {process.returncode}: {' '.join(command)}")

    def sample(self, pid, ended):
        while not ended.is_set():
            try:
                found = re.search(r"RssAnon:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())
            except OSError:
                return
            if found:
                self.anonymous = max(self.anonymous, int(found[1]) / 1024)
                self.samples += 1
            ended.wait(SAMPLE_S)


def warm(path):
    """Reads the file into the page cache, and waits until nothing is left to be written."""
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 20):
            pass
    os.sync()


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


class Model:
    """The rounds of one model: runs by step."""

    def __init__(self, name, options):
        folder = ROOT / "build" / "bench"
        folder.mkdir(parents=True, exist_ok=True)
        self.name, self.runs = name, {"copy": [], "sync": [], "import": [], "program": []}
        archive, copy, bundle = folder / f"{name}.pt2", folder / f"{name}.copy", folder / f"{name}.bundle"
        try:
            self.weights = make_archive.make_archive(ROOT / "bench" / "models" / f"{name}.tar.xz", archive)
            for _ in range(options.rounds):
                warm(archive)
                self.run("copy", "cp", "--reflink=never", archive, copy)
                self.run("sync", "sync", copy)
                remove(copy)
                warm(archive)
                self.run("import", options.torchlift, "import", archive, "-o", bundle)
                remove(bundle)
                self.run("program", options.torchlift, "import", archive, "-o", bundle, "--weights", "none")
                remove(bundle)
        finally:
            for path in (archive, copy, bundle):
                remove(path)

    def run(self, step, *command):
        self.runs[step].append(Run(*command))

    def times(self, step, attribute="wall"):
        """Seconds of each round; a copy is not done before it is synced."""
        taken = [getattr(run, attribute) for run in self.runs[step]]
        return [a + b for a, b in zip(taken, self.times("sync", attribute))] if step == "copy" else taken

    def median(self, step, attribute="wall"):
        return statistics.median(self.times(step, attribute))

    def bound(self):
        return FACTOR * self.median("copy") + CONSTANT_S

    def anonymous(self):
        return max(run.anonymous for run in self.runs["import"])

    def within(self):
        return self.median("import") <= self.bound() and self.anonymous() <= ANONYMOUS_MIB

    def row(self):
        imports = self.times("import")
        cells = (self.name, f"{self.weights / 1e6:.0f} MB", f"{self.median('copy'):.2f} s", f"{self.median('import'):.2f} s",
                 f"{self.bound():.2f} s", f"{min(imports):.2f} to {max(imports):.2f} s", f"{self.median('program'):.2f} s",
                 f"{self.median('copy', 'processor'):.2f} s", f"{self.median('import', 'processor'):.2f} s",
                 f"{self.anonymous():.0f} MiB", "yes" if self.within() else "no")
        return "| " + " | ".join(cells) + " |"

    def details(self):
        times = ", ".join(f"{step} {' '.join(f'{t:.2f}' for t in self.times(step))}" for step in self.runs)
        return f"{self.name}: {times}; memory read {min(run.samples for run in self.runs['import'])} times or more an import"


HEAD = """| model | weights | copy | import | bound | imports from, to | program alone | processor: copy | processor: import | peak RssAnon | within |
|---|---|---|---|---|---|---|---|---|---|---|"""


def machine():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    mounts = [line.split()[1:3] for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    _, system = max((len(place), kind) for place, kind in mounts if ROOT.is_relative_to(place))
    return f"{len(os.sched_getaffinity(0))} cores of {platform.machine()}, {memory:.0f} GiB of memory, file system {system}"


def write_section(page, text):
    before, found, rest = page.read_text().partition(BEGIN)
    _, also, after = rest.partition(END)
    if not found or not also:
        sys.exit(f"import_bench: {page} has no section between `{BEGIN}` and `{END}`")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--torchlift", type=pathlib.Path, default=ROOT / "build" / "release" / "bin" / "torchlift")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--page", type=pathlib.Path, help="write the table into this page")
    options = parser.parse_args()
    recorded = {path.name.removesuffix(".tar.xz"): path.stat().st_size for path in (ROOT / "bench" / "models").glob("*.tar.xz")}
    names = options.names or ["resnet50", "bert-base", "decoder-1b"]
    if unknown := [name for name in names if name not in recorded]:
        parser.error(f"not recorded: {', '.join(unknown)}; recorded: {', '.join(sorted(recorded))}")

    load = []
    rows = []
    within = True
    for name in names:
        load.append(os.getloadavg()[0])
        model = Model(name, options)
        rows.append(model.row())
        within &= model.within()
        print(model.details(), file=sys.stderr)
    conditions = f"{machine()}; load {min(load):.1f} to {max(load):.1f} before each model; median of {options.rounds} rounds."
    text = "\n".join([HEAD, *rows, "", conditions])
    print(text)
    if options.page:
        write_section(options.page, text)
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
