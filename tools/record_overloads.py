#!/usr/bin/env python3
"""Write tests/data/overloads.txt: which overload TorchScript takes for a call, by the types of its arguments.

    python tools/record_overloads.py [--out FILE] [--check]

One call a line: base name, arguments, overload, separated by tabs. An argument is a type, after `name=` where it is a
keyword; `Tensor0` is a tensor of no dimensions. The overload is `none` where TorchScript finds none.
Needs the pinned torch (tools/requirements/torch.txt); --check compares instead of writing.
"""
import io
import sys

from generated import write_or_check

TYPES = {"Tensor0": "Tensor", "NoneType": None}

CALLS = """
aten::add Tensor Tensor|Tensor int|Tensor float|Tensor bool|Tensor complex|int int|int float|float int|str str|int Tensor
aten::add List[int] List[int]|Tensor Tensor alpha=int|Tensor int int|float Tensor|bool Tensor|Tensor str|Tensor0 float
aten::add Tensor Tensor out=Tensor|List[Tensor] List[Tensor]|bool bool|complex int|Tensor Tensor alpha=float
aten::add_ Tensor Tensor|Tensor int|List[int] List[int]|Tensor float
aten::sub Tensor Tensor|Tensor int|int int|Tensor float int|float Tensor|int Tensor|Tensor bool
aten::mul Tensor Tensor|Tensor float|int float|List[int] int|str int|int Tensor|float Tensor|complex complex
aten::div Tensor Tensor|Tensor int|int int|float float|Tensor Tensor rounding_mode=str|Tensor int rounding_mode=str
aten::div Tensor float rounding_mode=NoneType|Tensor Tensor out=Tensor
aten::div_ Tensor Tensor|Tensor float
aten::floor_divide Tensor Tensor|Tensor int|Tensor float
aten::floordiv int int|float int|Tensor int
aten::remainder Tensor Tensor|Tensor int|int int|float Tensor|int Tensor|float float
aten::pow Tensor Tensor|Tensor int|int Tensor|int int|float int|float Tensor|Tensor float
aten::neg Tensor|int|float
aten::eq Tensor Tensor|Tensor int|int int|str str|List[int] List[int]|int Tensor|bool bool|Device Device|List[Tensor] List[Tensor]
aten::ne Tensor float|int float|NoneType NoneType|str str|Tensor Tensor
aten::lt Tensor int|int float|Tensor Tensor|float Tensor|str str
aten::gt Tensor Tensor|Tensor float|int Tensor
aten::ge Tensor int|int Tensor
aten::__and__ Tensor Tensor|Tensor int|bool bool|int int|Tensor bool
aten::bitwise_and Tensor Tensor|Tensor int|int Tensor
aten::max Tensor|Tensor Tensor|Tensor int|Tensor int bool|Tensor int keepdim=bool
aten::min Tensor|Tensor Tensor|Tensor int
aten::sum Tensor|Tensor List[int]|Tensor int|Tensor List[int] bool|Tensor dtype=int|Tensor List[int] bool dtype=int|List[int]
aten::mean Tensor|Tensor List[int]|Tensor int|Tensor Tuple[int, int] bool|Tensor dtype=int
aten::all Tensor|Tensor int|List[bool]|Tensor int bool
aten::any Tensor|Tensor int|List[int]
aten::std Tensor|Tensor bool|Tensor List[int]|Tensor int|Tensor List[int] bool bool|Tensor List[int] correction=int
aten::var Tensor bool|Tensor List[int] bool bool|Tensor dim=List[int] correction=int keepdim=bool
aten::view Tensor List[int]|Tensor int|Tensor int int|Tensor Tuple[int, int]
aten::reshape Tensor List[int]|Tensor Tuple[int, int]|Tensor int int
aten::permute Tensor List[int]|Tensor int int int
aten::expand Tensor List[int]|Tensor List[int] implicit=bool
aten::repeat Tensor List[int]|Tensor int int
aten::transpose Tensor int int
aten::squeeze Tensor|Tensor int|Tensor List[int]
aten::unsqueeze Tensor int|Tensor Tensor0|Tensor bool
aten::flatten Tensor|Tensor int|Tensor int int
aten::select Tensor int int|Tensor int Tensor0|List[int] int
aten::slice Tensor int int int int|List[int] int int int|Tensor|Tensor int NoneType NoneType int|str int int int|Tensor int Tensor0
aten::split Tensor int int|Tensor List[int] int|Tensor int|str str|Tensor Tuple[int, int]
aten::split_with_sizes Tensor List[int] int
aten::chunk Tensor int int
aten::cat List[Tensor] int|List[Tensor]|Tuple[Tensor, Tensor] int
aten::stack List[Tensor] int
aten::index Tensor List[Optional[Tensor]]|Tensor List[Tensor]
aten::index_put_ Tensor List[Optional[Tensor]] Tensor bool|Tensor List[Tensor] Tensor
aten::index_select Tensor int Tensor
aten::gather Tensor int Tensor
aten::scatter Tensor int Tensor Tensor|Tensor int Tensor float|Tensor int Tensor float reduce=str
aten::masked_fill Tensor Tensor float|Tensor Tensor Tensor|Tensor Tensor int
aten::where Tensor|Tensor Tensor Tensor|Tensor float Tensor|Tensor Tensor float|Tensor float int
aten::clamp Tensor float float|Tensor NoneType int|Tensor Tensor Tensor|Tensor min=int|Tensor max=float
aten::clamp_min Tensor float|Tensor Tensor
aten::zeros List[int] dtype=int layout=NoneType device=Device|List[int]|int|int int|List[int] dtype=int device=str
aten::ones List[int] dtype=int|Tuple[int, int]
aten::full List[int] int|List[int] float dtype=int|List[int] bool
aten::arange int|int int|int int int|float|int dtype=int|int int dtype=int device=Device|Tensor0
aten::linspace float float int|int int int|Tensor Tensor int|Tensor float int
aten::zeros_like Tensor|Tensor dtype=int|Tensor memory_format=int
aten::tensor int|float|List[int]|List[List[float]]|float dtype=int|bool
aten::to Tensor int|Tensor Tensor|Tensor Device|Tensor dtype=int|Tensor Device int|Tensor int bool bool|Tensor str|Tensor int bool bool NoneType
aten::to Tensor dtype=int layout=int device=Device|Tensor Device int bool bool int|Tensor bool bool|Tensor NoneType int
aten::conv2d Tensor Tensor NoneType List[int] List[int] List[int] int|Tensor Tensor NoneType int|Tensor Tensor Tensor int int
aten::conv2d Tensor Tensor NoneType int str|Tensor Tensor|Tensor Tensor bias=Tensor|input=Tensor weight=Tensor
aten::conv1d Tensor Tensor Tensor List[int] str List[int] int|Tensor Tensor Tensor List[int] List[int] List[int] int
aten::_convolution Tensor Tensor Tensor List[int] List[int] List[int] bool List[int] int bool bool bool
aten::_convolution Tensor Tensor Tensor List[int] List[int] List[int] bool List[int] int bool bool bool bool
aten::conv_transpose2d Tensor Tensor NoneType List[int] List[int] List[int] int List[int]
aten::linear Tensor Tensor Tensor|Tensor Tensor NoneType|Tensor Tensor
aten::batch_norm Tensor NoneType NoneType Tensor Tensor bool float float bool|Tensor Tensor Tensor Tensor Tensor bool int float bool
aten::layer_norm Tensor List[int] Tensor Tensor float bool|Tensor List[int]
aten::dropout Tensor float bool|Tensor bool bool|Tensor int bool|Tensor Tensor0 bool
aten::softmax Tensor int|Tensor int int|Tensor int NoneType|Tensor str
aten::gelu Tensor|Tensor approximate=str
aten::leaky_relu Tensor float|Tensor|Tensor bool|Tensor int|Tensor Tensor0
aten::hardtanh Tensor float float|Tensor int int
aten::max_pool2d Tensor List[int] List[int] List[int] List[int] bool|Tensor int|Tensor int int
aten::avg_pool2d Tensor List[int] List[int] List[int] bool bool NoneType|Tensor int
aten::adaptive_avg_pool2d Tensor List[int]|Tensor int
aten::upsample_nearest2d Tensor List[int] NoneType|Tensor NoneType List[float]|Tensor List[int] float float|Tensor List[int]
aten::upsample_bilinear2d Tensor List[int] bool NoneType|Tensor NoneType bool List[float]|Tensor List[int] bool float float
aten::__interpolate Tensor List[int] NoneType str NoneType|Tensor NoneType float str bool|Tensor int|Tensor NoneType List[float]
aten::lstm Tensor List[Tensor] List[Tensor] bool int float bool bool bool|Tensor Tensor List[Tensor] List[Tensor] bool int float bool bool
aten::gru Tensor Tensor List[Tensor] bool int float bool bool bool
aten::lstm_cell Tensor List[Tensor] Tensor Tensor Tensor Tensor|Tensor Tuple[Tensor, Tensor] Tensor Tensor NoneType NoneType
aten::embedding Tensor Tensor int bool bool
aten::size Tensor|Tensor int
aten::len Tensor|List[int]|str
aten::item Tensor
aten::Int Tensor|float|bool|str
aten::Float Tensor|int|str
aten::Bool Tensor|int
aten::norm Tensor|Tensor int|Tensor float List[int] bool|Tensor float int|Tensor float dtype=int
aten::topk Tensor int|Tensor int int bool bool
aten::sort Tensor int bool|Tensor bool|Tensor dim=int|Tensor
aten::einsum str List[Tensor]|str Tensor Tensor
aten::meshgrid List[Tensor]|List[Tensor] indexing=str|Tensor Tensor
aten::copy_ Tensor Tensor|Tensor Tensor bool|Tensor int|Tensor float
aten::fill_ Tensor int|Tensor Tensor
aten::new_zeros Tensor List[int]|Tensor int
aten::random_ Tensor|Tensor int|Tensor int int
aten::result_type Tensor Tensor|Tensor int|int Tensor|int float
aten::device str|str int
aten::addmm Tensor Tensor Tensor beta=int alpha=int|Tensor Tensor Tensor
aten::roll Tensor int|Tensor List[int] List[int]|Tensor int int
aten::cumsum Tensor int|Tensor int dtype=int
aten::unflatten Tensor int List[int]
aten::pad Tensor List[int]|Tensor List[int] str float|Tensor List[int] str NoneType
aten::stft Tensor int int int Tensor bool bool bool|Tensor int int int Tensor bool str bool bool bool
"""


def split_arguments(text):
    """Blanks separate arguments, but not within brackets."""
    out, depth = [""], 0
    for c in text:
        depth += (c == "[") - (c == "]")
        if c == " " and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [argument for argument in out if argument]


def loaded_graph(torch, source):
    """The graph of the function `forward` of an archive with this code: what PyTorch makes of a file."""
    buffer = io.BytesIO()
    writer = torch._C.PyTorchFileWriter(buffer)
    records = {
        "code/__torch__.py": source.encode(),
        "constants.pkl": b"\x80\x02).",
        "data.pkl": b"\x80\x02c__torch__\nM\n)\x81}(ub.",
        "version": b"10\n",
    }
    for name, data in records.items():
        writer.write_record(name, data, len(data))
    writer.write_end_of_file()
    buffer.seek(0)
    return torch.jit.load(buffer).forward.graph


def overload_of(torch, name, arguments):
    namespace, base = name.split("::")
    parameters, passed = ["self: __torch__.M"], []
    for i, argument in enumerate(arguments):
        keyword, _, type_name = argument.rpartition("=")
        spelled = TYPES.get(type_name, type_name)
        if spelled is not None:
            parameters.append(f"a{i}: {spelled}")
        value = "None" if spelled is None else f"a{i}"
        passed.append(f"{keyword}={value}" if keyword else value)
    callee = f"torch.{base}" if namespace == "aten" else f"ops.{namespace}.{base}"
    source = (f"class M(Module):\n  def forward({', '.join(parameters)}) -> Any:\n"
              f"    x = {callee}({', '.join(passed)})\n    return x\n")
    try:
        graph = loaded_graph(torch, source)
    except RuntimeError as error:
        if not any(text in str(error) for text in ("Arguments for call", "Expected", "nknown", "Argument")):
            raise
        return "none"
    nodes = [node for node in graph.nodes() if node.kind() == name]
    if not nodes:
        kinds = [node.kind() for node in graph.nodes() if node.kind().startswith("aten::")]
        return "instead " + kinds[-1] if kinds else "none"
    return nodes[-1].schema().split("(")[0]


def lines():
    import torch
    version = torch.__version__.split("+")[0]
    yield f"# Made by tools/record_overloads.py from torch {version}; do not edit."
    for line in CALLS.strip().splitlines():
        name, calls = line.split(" ", 1)
        for call in calls.split("|"):
            arguments = split_arguments(call)
            yield "\t".join([name, " ".join(arguments), overload_of(torch, name, arguments)])


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, "../tests/data/overloads.txt", lines()))
