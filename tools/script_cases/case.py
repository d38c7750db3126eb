"""The table of TorchScript cases: each a function that gives a module and the arguments of its calls."""
import dataclasses
from typing import Any, Callable, Dict, List, Tuple

import torch

CASES: Dict[str, "Case"] = {}


@dataclasses.dataclass
class Case:
    name: str
    build: Callable
    how: str = "script"       # script, trace, freeze (of a scripted module), done (already TorchScript), or bytes (an archive)
    method: str = "forward"
    features: Tuple[str, ...] = ()
    compare: str = "values"
    tolerance: Any = None


@dataclasses.dataclass
class Built:
    module: Any
    args: Tuple = ()
    kwargs: Dict[str, Any] = dataclasses.field(default_factory=dict)
    steps: List[Tuple] = dataclasses.field(default_factory=list)   # further calls on the same loaded program, after `args`
    alts: List[Tuple] = dataclasses.field(default_factory=list)    # further calls, each on a freshly loaded program
    example: Any = None                                            # what to trace with, if not args


def case(name, how="script", **options):
    def register(build):
        assert name not in CASES, name
        CASES[name] = Case(name, build, how, **options)
        return build
    return register


def rnd(*shape):
    return torch.randn(*shape)
