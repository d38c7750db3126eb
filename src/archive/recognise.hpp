// What a file is, by its content; its name is never asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "archive/zip.hpp"
#include "base/bytes.hpp"

namespace torchlift::archive {

enum class FileKind : uint8_t {
  // zips
  Pt2Zip,           // torch.export.save of 2.1 to 2.7: `serialized_exported_program.json` at top level (layout G1)
  Pt2,              // PyTorch container with archive_format pt2 and models/ (layouts G2, G3)
  AotInductorOnly,  // the same with compiled objects only
  TorchScript,      // torch.jit.save
  TorchSave,        // torch.save
  TorchPackage,     // torch.package
  OtherZip,
  // others
  Empty,
  LegacyTorchSave,  // torch.save before 1.6
  PlainPickle,
  Safetensors,
  GitLfsPointer,
  Html,
  Foreign,  // a format that has a name, see foreign_format
  Unknown,
};

// FileKind::OtherZip stands for any zip, which recognise_zip tells apart.
FileKind recognise(ByteView file);

// "an ONNX model", "an HDF5 file", ...; empty if the bytes begin like none that is known.
std::string_view foreign_format(ByteView file);

struct ZipKind {
  FileKind kind = FileKind::OtherZip;
  std::string root;  // text before the first '/' of the first member; empty if it has none
};
ZipKind recognise_zip(const Zip& zip);

// Why a file is refused where a safetensors file is expected, if it is recognised as another.
std::optional<Diagnostic> refuse_tensor_file(ByteView file, const std::string& name);

// Why a file that is no zip is refused, with advice.
Diagnostic refuse_file(FileKind kind, ByteView file, const std::string& name);

}  // namespace torchlift::archive
