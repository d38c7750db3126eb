#!/usr/bin/env python3
"""Score an importer on a folder of case files (tools/corpus/README.md).

    python score.py CORPUS [--tool "torchlift run-cases {list} -o {out} --jobs {jobs}"] [--jobs N] [--only REGEX]
                           [--where LABEL=REGEX ...] [--skip-features A,B] [--json R.json] [--min-pass N]
    python score.py --self-test

The tool is called once, with all cases: it sees the programs and the inputs, never what is expected.  If it dies, or says
nothing for --timeout seconds, the first cases without a word (as many as jobs) are tried one by one, and it is called again
with the rest.  What it wrote is compared here.  A case is

    passed    answered, and everything is equal: number, dtype, shape, values, changed buffers and inputs
    wrong     answered "ok", but not equal, or not readable: the worst kind
    refused   refused by a diagnostic
    crashed   error, timeout, or the tool died on it

Exit code: 0; 1 with fewer than --min-pass passed; 2 if nothing could be scored.  Needs numpy only.
"""
import argparse
import collections
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import casefile  # noqa: E402

PROGRAMS = ("pt2", "dyn.pt2", "ts.pt", "pt")          # NAME.pt2 is called NAME, the others NAME.dyn, NAME.ts, NAME.pt
HOPELESS = 8                                           # a tool that died on so many and answered none is not called again
MANY = 16                                              # labels with more values than this are summed up


class Line:
    """One program with one set of inputs, or with several calls in a row (.step0, .step1, ...)."""

    def __init__(self, program, suffix, names, files):
        self.program, self.suffix, self.names, self.files = program, suffix, names, files


def corpus(folder):
    """All lines of a folder (or of its subfolder `cases`), and the case files that have no program."""
    if os.path.isdir(os.path.join(folder, "cases")):
        folder = os.path.join(folder, "cases")
    have = set(os.listdir(folder))
    groups, alone = collections.OrderedDict(), []
    for f in sorted(have):
        if not f.endswith(".safetensors"):
            continue
        stem = f.removesuffix(".safetensors")
        m = re.fullmatch(r"(.+?)((?:\.alt\d+)?)(?:\.step(\d+))?", stem)
        groups.setdefault((m[1], m[2]), []).append((int(m[3] or 0), f))
    lines = []
    for (base, alt), files in groups.items():
        files = [os.path.join(folder, f) for _, f in sorted(files)]
        found = [e for e in PROGRAMS if f"{base}.{e}" in have]
        if not found:
            alone += files
            continue
        steps = [re.search(r"(\.step\d+)?\.safetensors$", f)[1] or "" for f in files]
        for e in found:
            tag = {"pt2": "", "dyn.pt2": ".dyn", "ts.pt": ".ts", "pt": ".pt" if "pt2" in found else ""}[e]
            lines.append(Line(os.path.join(folder, f"{base}.{e}"), e, [f"{base}{tag}{alt}{s}" for s in steps], files))
    return lines, alone


# ---------------------------------------------------------------- calling the tool
def call(command, lines, jobs, timeout, tmp, log):
    """One call. -> ({name: status line}, OUT, "" or why it ended badly).  The name of a case is the name of its inputs."""
    work = tempfile.mkdtemp(dir=tmp)
    out, listed = os.path.join(work, "out"), os.path.join(work, "list.tsv")
    os.mkdir(out)
    with open(listed, "w") as f:
        for l in lines:
            f.write("\t".join([os.path.abspath(l.program)] + [os.path.join(tmp, "in", n + ".safetensors") for n in l.names]) + "\n")
    argv = [w.format(list=listed, out=out, jobs=jobs) for w in shlex.split(command)]
    status = os.path.join(out, "status.jsonl")
    p = subprocess.Popen(argv, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
    size, last, why = -1, time.time(), ""
    try:
        while p.poll() is None:
            now = os.path.getsize(status) if os.path.exists(status) else 0
            if now != size:
                size, last = now, time.time()
            elif time.time() - last > timeout:
                why = "timeout"
                break
            time.sleep(0.02 if time.time() - last < 2 else 0.2)
    finally:
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
    if not why and p.returncode:
        why = f"signal {-p.returncode}" if p.returncode < 0 else f"exit code {p.returncode}"
    rows = {}
    if os.path.exists(status):
        for text in open(status, errors="replace"):
            try:
                r = json.loads(text)
                rows[r["case"]] = r
            except (ValueError, KeyError, TypeError):
                pass                                   # the line it died in
    return rows, out, why


def run(command, lines, jobs, timeout, tmp):
    """{name: (status line, path of the answer)} for every case."""
    os.mkdir(os.path.join(tmp, "in"))
    for l in lines:
        for n, f in zip(l.names, l.files):
            casefile.write(os.path.join(tmp, "in", n + ".safetensors"), casefile.read(f).inputs())
    got, calls, spoke, tries = {}, 0, False, 0

    def go(part, jobs):
        nonlocal calls, spoke
        calls += 1
        rows, out, why = call(command, part, jobs, timeout, tmp, log)
        spoke |= bool(rows)
        for l in part:
            for n in l.names:
                if n in rows:
                    got[n] = (rows[n], os.path.join(out, n + ".safetensors"))
        return why

    with open(os.path.join(tmp, "log"), "wb") as log:
        left = lines
        while left:
            if spoke or tries < HOPELESS:
                why = go(left, jobs)
            left = [l for l in left if any(n not in got for n in l.names)]
            if not left:
                break
            suspects, left = left[:max(jobs, 1)], left[max(jobs, 1):]
            for l in suspects:
                tries += 1
                if spoke or tries <= HOPELESS:
                    why = go([l], 1)
                for n in l.names:
                    if n not in got:
                        got[n] = ({"case": n, "status": "timeout" if why == "timeout" else "died",
                                   "diagnostics": [why or "no word of this case"]}, None)
        with open(os.path.join(tmp, "log"), "rb") as f:
            f.seek(max(0, os.path.getsize(f.name) - 2000))
            tail = f.read().decode(errors="replace")
    return got, calls, tail


# ---------------------------------------------------------------- judging
def text_of(diagnostic):
    if isinstance(diagnostic, dict):
        diagnostic = diagnostic.get("message") or diagnostic.get("text") or json.dumps(diagnostic, sort_keys=True)
    return casefile.clean(diagnostic)


def judge(want, row, answer):
    """-> (verdict, kind, text)"""
    status = row.get("status")
    said = "; ".join(text_of(d) for d in row.get("diagnostics") or [])
    if status == "refused":
        return "refused", "refused", said
    if status != "ok":
        return "crashed", status if status in ("error", "timeout", "died") else "status", said or f"status {status!r}"
    try:
        found = casefile.compare(want, casefile.read(answer))
    except Exception as e:                             # whatever is in a file that a tool wrote
        return "wrong", "unreadable", casefile.clean(f"says ok, but: {type(e).__name__}: {e}")
    if not found:
        return "passed", "", ""
    return "wrong", found[0][0], "; ".join(t for _, t in found[:4])


def tally(rows, keys):
    """{key: {verdict: n}} with the keys that keys(row) gives."""
    t = collections.defaultdict(collections.Counter)
    for r in rows.values():
        for k in keys(r):
            t[k][r["verdict"]] += 1
    return t


def table(title, t, order=None):
    print(f"{title:34} {'cases':>7} {'passed':>7} {'wrong':>7} {'refused':>7} {'crashed':>7}")
    for k in order or sorted(t):
        c = t[k]
        print(f"  {str(k)[:32]:32} {sum(c.values()):7} {c['passed']:7} {c['wrong']:7} {c['refused']:7} {c['crashed']:7}")


def report(rows, skipped, alone, show):
    worst = {"wrong": "WRONG (answered, and not equal)", "crashed": "crashed"}
    for v, title in worst.items():
        some = [(n, r) for n, r in rows.items() if r["verdict"] == v]
        if some:
            print(f"{title}: {len(some)}")
            for n, r in some[:show]:
                print(f"  {n}: {r['kind']}: {r['text'][:300]}")
            if len(some) > show:
                print(f"  ... {len(some) - show} more (see --json, or --show)")
    why = collections.Counter(r["text"][:140] for r in rows.values() if r["verdict"] == "refused")
    if why:
        print(f"refused: {sum(why.values())}, most frequent reasons")
        for text, n in why.most_common(25):
            print(f"  {n:5}  {text}")
    total = tally(rows, lambda r: ["all"])
    by = {"feature": tally(rows, lambda r: r["features"] or ["(none)"])}
    for label in sorted({k for r in rows.values() for k in r["labels"]}):
        by[label] = tally(rows, lambda r: [r["labels"][label]] if label in r["labels"] else [])
    table("", total)
    for what, t in by.items():
        if len(t) <= MANY:
            table(f"by {what}", t)
        else:
            whole = sum(c["passed"] == sum(c.values()) for c in t.values())
            none = sum(c["passed"] == 0 for c in t.values())
            print(f"by {what}: {len(t)}, {whole} with all cases passed, {len(t) - whole - none} with some, {none} with none, "
                  f"{sum(c['wrong'] > 0 for c in t.values())} with a wrong one")
    if skipped:
        print(f"skipped: {skipped} cases, for their features")
    if alone:
        print(f"no program beside: {len(alone)} case files")
    return {"all": total["all"], **by}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("corpus", nargs="?")
    p.add_argument("--tool", default="torchlift run-cases {list} -o {out} --jobs {jobs}")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--timeout", type=float, default=120, help="seconds without a new status line after which the tool is ended")
    p.add_argument("--only", help="regular expression on the case's name")
    p.add_argument("--programs", metavar="A,B", help="only programs of these suffixes: pt2, dyn.pt2, pt, ts.pt")
    p.add_argument("--where", action="append", default=[], metavar="LABEL=REGEX", help="only cases whose label matches whole")
    p.add_argument("--skip-features", default="", metavar="A,B", help="leave out cases with one of these: " + ", ".join(casefile.FEATURES))
    p.add_argument("--json", help="write every case's verdict and the tables here")
    p.add_argument("--min-pass", type=int, default=0)
    p.add_argument("--show", type=int, default=50, help="how many wrong and crashed cases to list")
    p.add_argument("--self-test", action="store_true")
    a = p.parse_args()
    if a.self_test:
        import score_selftest
        return score_selftest.main()
    if not a.corpus:
        p.error("which corpus?")
    skip = {f for f in a.skip_features.split(",") if f}
    if skip - set(casefile.FEATURES):
        p.error("no such feature: " + ", ".join(sorted(skip - set(casefile.FEATURES))))
    where = [w.partition("=")[::2] for w in a.where]
    lines, alone = corpus(a.corpus)
    chosen, right, skipped = [], {}, 0
    for l in lines:
        first = casefile.read(l.files[0])
        if first.programs is not None and l.suffix not in first.programs:
            continue
        if a.programs and l.suffix not in a.programs.split(","):
            continue
        if a.only and not any(re.search(a.only, n) for n in l.names):
            continue
        if not all(re.fullmatch(rx, str(first.labels.get(k, ""))) for k, rx in where):
            continue
        if skip & set(first.features):
            skipped += len(l.names)
            continue
        chosen.append(l)
        right.update(zip(l.names, l.files))
    if not chosen:
        print(f"no cases in {a.corpus}" + (f" ({len(lines)} before the selection)" if lines else ""))
        return 2
    t0, rows = time.time(), {}
    with tempfile.TemporaryDirectory(prefix="score-") as tmp:
        try:
            got, calls, tail = run(a.tool, chosen, a.jobs, a.timeout, tmp)
        except OSError as e:
            print(f"the tool does not start: {e}")
            return 2
        for n, f in right.items():
            want = casefile.read(f)
            row, answer = got[n]
            verdict, kind, text = judge(want, row, answer)
            rows[n] = {"verdict": verdict, "kind": kind, "text": text, "seconds": row.get("seconds"),
                       "features": want.features, "labels": want.labels}
    tables = report(rows, skipped, alone, a.show)
    passed = tables["all"]["passed"]
    if passed == 0 and tail.strip():
        print("the tool's last words:\n" + tail.strip()[-1000:])
    print(f"{calls} calls of the tool, {time.time() - t0:.1f} s")
    if a.json:
        with open(a.json, "w") as f:
            json.dump({"totals": tables["all"], "skipped": skipped, "by": {k: v for k, v in tables.items() if k != "all"},
                       "cases": rows}, f, indent=0)
    print(f"{passed} passed, {len(rows) - passed} failed")
    return 1 if passed < a.min_pass else 0


if __name__ == "__main__":
    sys.exit(main())
