#!/usr/bin/env python3
"""Write data/aten_schemas.txt: every aten:: and prims:: schema in PyTorch's operator registry.

    python tools/gen_schemas.py [--out data/aten_schemas.txt] [--check]

One schema a line, sorted by full name; after a tab its tags, comma-separated and sorted, or `-` for none; after another
its place among the overloads of its name in the order in which TorchScript tries them (that of their registration), or
`-` where TorchScript does not see it. Operators of TorchScript alone (on ints, strings, lists, ...) have no tags and never occur in a .pt2.
Needs the pinned torch (tools/requirements/torch.txt); --check compares instead of writing.
"""
import sys

from generated import write_or_check

NAMESPACES = ("aten::", "prims::")


def lines():
    import torch
    dispatched = set(torch._C._dispatch_get_all_op_names())
    found = {}
    order = {}
    for schema in torch._C._jit_get_all_schemas():
        if not schema.name.startswith(NAMESPACES):
            continue
        if schema.name not in order:
            overloads = torch._C._jit_get_schemas_for_operator(schema.name)
            order[schema.name] = {overload.overload_name: place for place, overload in enumerate(overloads)}
        full_name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        tags = []
        if full_name in dispatched:
            namespace, base = schema.name.split("::")
            packet = getattr(getattr(torch.ops, namespace), base)
            tags = getattr(packet, schema.overload_name or "default").tags
        place = order[schema.name].get(schema.overload_name, "-")
        found[full_name, str(schema)] = f"{','.join(sorted(tag.name for tag in tags)) or '-'}\t{place}"
    version = torch.__version__.split("+")[0]
    yield f"# Made by tools/gen_schemas.py from torch {version}; do not edit."
    yield f"# {len(found)} schemas: schema<TAB>tags (- for none)<TAB>place in TorchScript's order, sorted by full name."
    for (_, schema), rest in sorted(found.items()):
        yield f"{schema}\t{rest}"


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, "aten_schemas.txt", lines()))
