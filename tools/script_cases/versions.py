"""Archives of older format versions: files of today's PyTorch, edited. Expected values are those of PyTorch's own reader."""
import io
import os
import tempfile
import zipfile

import torch
import torch.nn.functional as F
from torch import nn

from case import Built, case, rnd

# Members that PyTorch's writer adds by itself.
WRITTEN = ("version", ".data/version", "byteorder", ".data/serialization_id")


def edited(module, version, edit=lambda name, text: text, keep_debug=False, root="archive"):
    """The archive of a scripted module with another version; edit(member, text of its code) -> text."""
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    with zipfile.ZipFile(buffer) as source, tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, root + ".pt")
        w = torch._C.PyTorchFileWriter(path)
        w.set_min_version(version)
        for member in source.namelist():
            name = member.split("/", 1)[1]
            data = source.read(member)
            if name in WRITTEN or name.endswith("debug_pkl") and not keep_debug:
                continue
            if name.startswith("code/") and name.endswith(".py"):
                data = edit(name, data.decode()).encode()
            w.write_record(name, data, len(data))
        w.write_end_of_file()
        with open(path, "rb") as f:
            return f.read()


def without(*texts):
    def edit(_, code):
        for t in texts:
            code = code.replace(t, "")
        return code
    return edit


def plain_zip(blob, drop=(), change=None, order=None):
    """The archive with members left out or changed, by Python's own zip writer: no alignment, no padding."""
    change = change or {}
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(blob)) as source, zipfile.ZipFile(out, "w") as target:
        names = sorted(source.namelist(), key=order) if order else source.namelist()
        for member in names:
            root, name = member.split("/", 1)
            if name in drop:
                continue
            data = source.read(member)
            target.writestr(zipfile.ZipInfo(f"{root}/{name}"), change[name](data) if name in change else data,
                            compress_type=zipfile.ZIP_DEFLATED if name.startswith("code/") else zipfile.ZIP_STORED)
    return out.getvalue()


class Div(nn.Module):
    def forward(self, a, b, x):
        c = a.clone()
        c.add_(1)
        return c, torch.div(a, b), torch.div(x, b), torch.div(a, 2), torch.div(a, 2.5), a / b, torch.div(a, b, rounding_mode="floor")


DIV = (torch.tensor([7, -7, 9]), torch.tensor([2, 2, -4]), torch.tensor([1.0, -2.5, 3.0]))


@case("version3_div_forms", how="bytes")
def _():
    return Built(edited(torch.jit.script(Div()), 3), DIV)


@case("version4_div_is_true", how="bytes")
def _():
    return Built(edited(torch.jit.script(Div()), 4), DIV)


@case("version3_div_in_place", how="bytes")
def _():
    class M(nn.Module):
        def forward(self, x, a, b):
            y = x.clone()
            y.div_(2)
            c = a.clone()
            c.div_(b, rounding_mode="trunc")
            c.add_(torch.div(a, b))
            return y, c
    def edit(_, code):
        return code.replace(', rounding_mode="trunc"', "")
    return Built(edited(torch.jit.script(M()), 3, edit), (rnd(3), torch.tensor([7, -7, 9]), torch.tensor([2, 2, -4])))


class Full(nn.Module):
    def forward(self, x, n: int):
        return torch.full([2], 1), torch.full([n], 2.5), torch.full([2], True), torch.full([2], 1, dtype=torch.int32)


@case("version4_full_is_float", how="bytes")
def _():
    return Built(edited(torch.jit.script(Full()), 4), (rnd(1), 3))


@case("version5_full_infers", how="bytes")
def _():
    return Built(edited(torch.jit.script(Full()), 5), (rnd(1), 3))


class Spaces(nn.Module):
    def forward(self, x):
        return torch.linspace(0.0, 1.0, 100), torch.logspace(0.0, 1.0, 100), torch.linspace(-1.0, 1.0, 5), torch.logspace(0.0, 2.0, 3, 2.0)


@case("version7_spaces_without_steps", how="bytes")
def _():
    return Built(edited(torch.jit.script(Spaces()), 7, without(", 100")), (rnd(1),))


@case("version8_logspace_without_steps", how="bytes")
def _():
    return Built(edited(torch.jit.script(Spaces()), 8, lambda _, c: c.replace("torch.logspace(0., 1., 100)", "torch.logspace(0., 1.)")), (rnd(1),))


class Gelu(nn.Module):
    def forward(self, x):
        return F.gelu(x), torch.linspace(0.0, 1.0, 4), torch.full([2], 1)


@case("version9_gelu", how="bytes")
def _():
    return Built(edited(torch.jit.script(Gelu()), 9, without(', approximate="none"')), (rnd(4),))


@case("version10_gelu", how="bytes")
def _():
    return Built(edited(torch.jit.script(Gelu()), 10, keep_debug=True), (rnd(4),))


@case("version6_in_data_folder", how="bytes")
def _():
    return Built(edited(torch.jit.script(Gelu()), 6, without(', approximate="none"'), root="other_name"), (rnd(4),))


class Old(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2, self.bn = nn.Linear(3, 4), nn.Linear(4, 2), nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.4)

    def forward(self, x):
        if x.dim() != 2:
            raise RuntimeError("two dimensions")
        x = self.drop(torch.relu(self.bn(self.l1(x))))
        return torch.softmax(self.l2(x), 1)


@case("version3_as_of_2019", how="bytes")
def _():
    """Class bodies without __buffers__ and hook fields, code that begins with op_version_set, no byte order, no debug files,
    linear spelt as addmm."""
    def edit(name, code):
        lines = []
        for line in code.splitlines():
            if "__buffers__" in line or "_is_full_backward_hook" in line:
                continue
            lines.append(line.replace(', "builtins.RuntimeError"', ""))
        text = "\n".join(lines) + "\n"
        text = text.replace("torch.linear(input, weight, bias)", "torch.addmm(bias, input, torch.t(weight), beta=1, alpha=1)")
        return "op_version_set = 1\n" + text
    blob = edited(torch.jit.script(Old().eval()), 3, edit)
    return Built(blob, (rnd(2, 3),))


@case("zip_without_alignment", how="bytes")
def _():
    blob = edited(torch.jit.script(Old().eval()), 3)
    return Built(plain_zip(blob, drop=(".data/serialization_id",), order=lambda n: n[::-1]), (rnd(2, 3),))


@case("byteorder_is_absent", how="bytes")
def _():
    return Built(plain_zip(edited(torch.jit.script(Old().eval()), 3), drop=("byteorder", ".data/serialization_id")), (rnd(2, 3),))


@case("extra_files_and_deep_root", how="bytes")
def _():
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(Old().eval()), buffer, _extra_files={"info.json": "{}", "a/b.txt": "text"})
    return Built(buffer.getvalue(), (rnd(2, 3),))
