"""Writes docs/zoo.md: every model of the zoo, whether it imports and agrees with PyTorch, and why not where not.

    python report.py TORCHLIFT ZOO SCORE.json... [--torchscript TRACED --traced SCORE.json... --scripted SCORE.json...] >docs/zoo.md

findings.tsv, beside this file, adds what was found of models that are not equal.

ZOO is the folder that export_zoo.py made; SCORE.json is what corpus/score.py --json wrote for it, later files count more.
TRACED is the folder that export_zoo.py --torchscript made; the scores after it are of that folder and of the scripted one.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import textwrap


def plain(text):
    """One line without paths of the machine that it was made on."""
    return re.sub(r"\S*/\S*/\S*", "<path>", re.sub(r"\s+", " ", text))


def findings():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "findings.tsv")) as file:
        return dict(line.rstrip("\n").split("\t") for line in file if not line.startswith("#"))


def inspect(tool, path):
    out = subprocess.run([tool, "inspect", "--json", path], capture_output=True, text=True)
    try:
        return json.loads(out.stdout)
    except ValueError:
        return {"diagnostics": [{"kind": "crash", "message": f"exit code {out.returncode}"}]}


def short(text):
    """At most 160 characters, cut between words."""
    return textwrap.shorten(text, 160, placeholder=" …")


def reason(name, exported, info, score):
    if not exported.get("ok"):
        return "PyTorch: " + exported.get("stage", "") + ": " + short(plain(exported.get("error", "")))
    errors = [d for d in info.get("diagnostics", []) if d.get("severity") == "error"]
    if errors:
        return f"{errors[0]['kind']}: {short(plain(errors[0]['message']))}"
    if score is None:
        return "not run"
    return "" if score["verdict"] == "passed" else f"{score['verdict']}: {short(plain(score['text']))}"


def verdicts(files):
    scored = {}
    for file in files or []:
        scored.update(json.load(open(file))["cases"])
    return scored


def torchscript(folder, traced, scripted, found):
    """The second part of the page: counts by group, and what is not equal."""
    ways = (("trace", verdicts(traced), ".ts"), ("script", verdicts(scripted), ""))
    groups = collections.defaultdict(collections.Counter)
    rows = []
    for line in sorted(open(os.path.join(folder, "torchscript.jsonl"))):
        r = json.loads(line)
        for way, scored, ending in ways:
            if not r[way]["ok"]:
                continue
            groups[r["group"]][way] += 1
            score = scored.get(r["name"].replace("/", "__") + ending)
            if score and score["verdict"] == "passed":
                groups[r["group"]][way + " equal"] += 1
                continue
            why = "not run" if score is None else f"{score['verdict']}: {short(plain(score['text']))}"
            if r["name"] in found and score and score["verdict"] == "wrong":
                why += "; " + found[r["name"]]
                groups[r["group"]][way + " found"] += 1
            rows.append((r["name"], way, why))
    total = sum(groups.values(), collections.Counter())
    print("\n## As TorchScript\n\nThe same models by torch.jit.trace, and by torch.jit.script where it takes them; a file counts as made where PyTorch, loading it, "
          "gives\nthe recorded results.\n")
    print(f"{total['trace']} traced, **{total['trace equal']} equal to PyTorch**; {total['script']} scripted, **{total['script equal']} equal**. "
          f"Not equal, with a reason that was measured (PyTorch's own\nfloat32 error, ties): {total['trace found']} and {total['script found']}; refused by name: "
          f"{sum('refused' in r[2][:8] for r in rows if r[1] == 'trace')} and {sum('refused' in r[2][:8] for r in rows if r[1] == 'script')}.\n")
    print("| group | traced | equal | scripted | equal |\n|---|---|---|---|---|")
    for g in sorted(groups):
        print(f"| {g} | " + " | ".join(str(groups[g][k]) for k in ("trace", "trace equal", "script", "script equal")) + " |")
    print("\n| not equal | by | |\n|---|---|---|")
    for r in rows:
        print("| " + " | ".join(x.replace("|", "\\|") for x in r) + " |")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("tool")
    p.add_argument("zoo")
    p.add_argument("scores", nargs="*")
    p.add_argument("--torchscript", metavar="TRACED")
    p.add_argument("--traced", nargs="*")
    p.add_argument("--scripted", nargs="*")
    a = p.parse_args()
    tool, zoo, scores = a.tool, a.zoo, a.scores
    exported = {}
    for line in open(os.path.join(zoo, "export.jsonl")):
        r = json.loads(line)
        exported[r["name"]] = r
    scored = verdicts(scores)
    found = findings()
    groups = collections.defaultdict(collections.Counter)
    total = collections.Counter()
    rows = []
    for name in sorted(exported):
        e, case = exported[name], name.replace("/", "__")
        info = inspect(tool, os.path.join(zoo, case + ".pt2")) if e.get("ok") else {}
        agreement = info.get("result", {}).get("agreement", {})
        why = reason(name, e, info, scored.get(case))
        for key in ("nodes", "type_differences", "strides", "stride_differences"):
            total[key] += agreement.get(key, 0)
        group = e.get("group", "?")
        groups[group]["all"] += 1
        groups[group]["exported"] += bool(e.get("ok"))
        groups[group]["agree"] += not why
        if why and name in found:
            why += "; " + found[name]
        rows.append((name, group, e.get("nodes", ""), e.get("params", ""), agreement.get("nodes", ""), why or "equal"))
    agree = sum(g["agree"] for g in groups.values())
    print("# The zoo\n\nReal architectures with random weights, exported by torch.export, imported by torchlift, run on the CPU plugin and compared\n"
          "with eager PyTorch: float32 within 2e-4 of the largest magnitude of each result (`tools/zoo`). Made by `tools/zoo/report.py`.\n")
    print(f"{len(exported)} models, {sum(g['exported'] for g in groups.values())} that torch.export can save, **{agree} equal to PyTorch**.\n")
    print(f"Inferred types beside the archive's own: {total['nodes']} node results compared, {total['type_differences']} differ in dtype or shape. "
          f"Of {total['strides']} declared strides {total['strides'] - total['stride_differences']} are inferred equal "
          f"({100 * (1 - total['stride_differences'] / max(total['strides'], 1)):.2f} %); where they differ, the archive's are taken.\n")
    print("| group | models | exported | equal |\n|---|---|---|---|")
    for g in sorted(groups):
        print(f"| {g} | {groups[g]['all']} | {groups[g]['exported']} | {groups[g]['agree']} |")
    print("\n| model | group | nodes | parameters | results compared | |\n|---|---|---|---|---|---|")
    for r in rows:
        print("| " + " | ".join(str(x).replace("|", "\\|") for x in r) + " |")
    if a.torchscript:
        torchscript(a.torchscript, a.traced, a.scripted, found)


if __name__ == "__main__":
    main()
