#!/usr/bin/env python3
"""Record the models of bench/import_bench.py without their weights.

    python tools/bench/record.py [NAME ...] [--out bench/models]       default: all

Each is exported with fake tensors, so that nothing large is held, and written as NAME.tar.xz: model.json (the exported program),
weights.json and constants.json (name, dtype, sizes and record of every tensor). bench/make_archive.py makes an archive of it.

    resnet50      torchvision, float32, 25.6 million parameters
    bert-base     transformers, float32, 109 million parameters
    decoder-1b    transformers, a Llama of 20 layers, bfloat16, 1.01 billion parameters

Needs the environment of tools/requirements/zoo.txt.
"""
import argparse
import io
import json
import lzma
import pathlib
import re
import sys
import tarfile
import zipfile

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = pathlib.Path(torch.__file__).parents[1]
MEMBERS = {"model.json": "models/model.json", "weights.json": "data/weights/model_weights_config.json",
           "constants.json": "data/constants/model_constants_config.json"}


class Call(torch.nn.Module):
    """Calls a language model on token ids alone, and returns one tensor."""

    def __init__(self, model, options, result):
        super().__init__()
        self.model, self.options, self.result = model, options, result

    def forward(self, ids):
        return self.model(input_ids=ids, **self.options)[self.result]


def resnet50():
    import torchvision
    return torchvision.models.resnet50(), torch.zeros(1, 3, 224, 224)


def bert_base():
    import transformers
    model = transformers.BertModel(transformers.BertConfig(attn_implementation="sdpa"))
    return Call(model, {}, "last_hidden_state"), torch.zeros(1, 128, dtype=torch.int64)


def decoder_1b():
    import transformers
    config = transformers.LlamaConfig(hidden_size=2048, intermediate_size=5632, num_hidden_layers=20, num_attention_heads=32,
                                      num_key_value_heads=4, vocab_size=32000, attn_implementation="sdpa")
    torch.set_default_dtype(torch.bfloat16)
    model = transformers.LlamaForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    return Call(model, {"use_cache": False}, "logits"), torch.zeros(1, 128, dtype=torch.int64)


MODELS = {"resnet50": resnet50, "bert-base": bert_base, "decoder-1b": decoder_1b}


def own_records(config, tensors, prefix):
    """Fake tensors have no address, so torch names one record for all: one for each storage instead, as for real ones."""
    records = {}
    for name, entry in config["config"].items():
        storage = tensors[name].untyped_storage()._cdata
        entry["path_name"] = prefix + str(records.setdefault(storage, len(records)))
    return json.dumps(config)


def neutral(text):
    """The program with no path of this machine in its stack traces."""
    for place in (PACKAGES, ROOT):
        text = text.replace(f"{place}/", "")
    assert not re.search(r'File \\"/', text), "a stack trace has an absolute path"
    return text


def record(build):
    """-> ({file: text}, number of parameters)"""
    with FakeTensorMode(), torch.no_grad():
        model, example = build()
        program = torch.export.export(model.eval(), (example,), strict=False)
    archive = io.BytesIO()
    torch.export.save(program, archive)
    with zipfile.ZipFile(archive) as stored:
        texts = {name: stored.read(f"archive/{member}").decode() for name, member in MEMBERS.items()}
    texts["model.json"] = neutral(texts["model.json"])
    texts["weights.json"] = own_records(json.loads(texts["weights.json"]), program.state_dict, "weight_")
    constants = {**program.constants, **dict(program.named_buffers())}
    texts["constants.json"] = own_records(json.loads(texts["constants.json"]), constants, "tensor_")
    return texts, sum(p.numel() for p in program.parameters())


def pack(texts, path):
    """The same bytes for the same texts."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, text in sorted(texts.items()):
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    path.write_bytes(lzma.compress(plain.getvalue(), check=lzma.CHECK_CRC32, preset=9 | lzma.PRESET_EXTREME))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODELS))
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "models")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names or MODELS:
        texts, parameters = record(MODELS[name])
        path = options.out / f"{name}.tar.xz"
        pack(texts, path)
        print(f"{name}: {parameters / 1e6:.1f} million parameters, {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
