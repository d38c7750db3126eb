#include "archive/recognise.hpp"

#include <algorithm>
#include <array>

#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::archive {
namespace {

using namespace std::string_view_literals;

struct Beginning {
  std::string_view bytes;
  FileKind kind;
  std::string_view format;  // of FileKind::Foreign
};

constexpr std::array kBeginnings = {
    Beginning{"PK\x03\x04"sv, FileKind::OtherZip, ""},
    Beginning{"PK\x05\x06"sv, FileKind::OtherZip, ""},
    Beginning{"version https://git-lfs.github.com/spec/"sv, FileKind::GitLfsPointer, ""},
    Beginning{"\x89HDF\r\n\x1a\n"sv, FileKind::Foreign, "an HDF5 file (Keras saves these)"},
    Beginning{"GGUF"sv, FileKind::Foreign, "a GGUF file (llama.cpp)"},
    Beginning{"ggml"sv, FileKind::Foreign, "a GGML file (llama.cpp)"},
    Beginning{"\x93NUMPY"sv, FileKind::Foreign, "a NumPy array file (.npy)"},
    Beginning{"ML\xefR"sv, FileKind::Foreign, "StableHLO or MLIR bytecode"},
    Beginning{"\x7f"
              "ELF"sv,
              FileKind::Foreign, "a shared library or program (ELF)"},
    Beginning{"\x1f\x8b"sv, FileKind::Foreign, "a file compressed with gzip"},
    Beginning{"\x28\xb5\x2f\xfd"sv, FileKind::Foreign, "a file compressed with Zstandard"},
    Beginning{"\xfd"
              "7zXZ"sv,
              FileKind::Foreign, "a file compressed with xz"},
    Beginning{"BZh"sv, FileKind::Foreign, "a file compressed with bzip2"},
    Beginning{"7z\xbc\xaf\x27\x1c"sv, FileKind::Foreign, "a 7z archive"},
    Beginning{"Rar!"sv, FileKind::Foreign, "a RAR archive"},
    Beginning{"%PDF-"sv, FileKind::Foreign, "a PDF document"},
};

// torch.save before 1.6 begins with a pickle of this number; the second byte is the protocol.
constexpr std::string_view kLegacyMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv;
constexpr size_t kTarMagicAt = 257;
constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // the format's own limit
constexpr size_t kHtmlWindow = 512;

const Beginning* find_beginning(std::string_view text) {
  auto found = std::find_if(kBeginnings.begin(), kBeginnings.end(),
                            [&](const Beginning& row) { return text.starts_with(row.bytes); });
  return found == kBeginnings.end() ? nullptr : &*found;
}

bool is_pickle(std::string_view text) { return text.size() >= 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5; }

// ModelProto: field 1 (ir_version), a small number; then field 2 (producer_name) or 8 (opset_import), both with a
// length.
bool is_onnx(std::string_view text) {
  return text.size() > 4 && text[0] == '\x08' && text[1] > 0 && text[1] < 32 &&
         (text[2] == '\x12' || text[2] == '\x42');
}

bool is_safetensors(ByteView file) {
  if (file.size() < 10) return false;
  uint64_t header = read_u64(file, 0);
  return header >= 2 && header <= kMaxSafetensorsHeader && header <= file.size() - 8 && file[8] == std::byte{'{'};
}

bool is_html(std::string_view text) {
  text = text.substr(0, kHtmlWindow);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '<') return false;
  std::string lower(text.substr(begin));
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower.starts_with("<!doctype html") || lower.find("<html") != std::string::npos;
}

bool has_folder(const Zip& zip, std::string_view folder) {
  return std::any_of(zip.members().begin(), zip.members().end(),
                     [&](const Member& member) { return member.name.starts_with(folder); });
}

FileKind kind_of_container(const Zip& zip, const std::string& prefix) {
  auto has = [&](std::string_view path) { return zip.find(prefix + std::string(path)) != nullptr; };
  bool compiled = has_folder(zip, prefix + "data/aotinductor/");
  if (has("archive_format"))
    return compiled && !has_folder(zip, prefix + "models/") ? FileKind::AotInductorOnly : FileKind::Pt2;
  if (compiled || has_folder(zip, "data/aotinductor/")) return FileKind::AotInductorOnly;
  if (has(".data/extern_modules") || has(".data/python_version")) return FileKind::TorchPackage;
  if (has("constants.pkl") || has("model.json") || has_folder(zip, prefix + "code/")) return FileKind::TorchScript;
  return has("data.pkl") ? FileKind::TorchSave : FileKind::OtherZip;
}

}  // namespace

FileKind recognise(ByteView file) {
  std::string_view text = text_of(file);
  if (text.empty()) return FileKind::Empty;
  if (is_safetensors(file)) return FileKind::Safetensors;  // first: the length it begins with may look like a pickle
  if (const Beginning* row = find_beginning(text)) return row->kind;
  if (is_pickle(text))
    return text.substr(2).starts_with(kLegacyMagic) ? FileKind::LegacyTorchSave : FileKind::PlainPickle;
  if (is_html(text)) return FileKind::Html;
  return foreign_format(file).empty() ? FileKind::Unknown : FileKind::Foreign;
}

std::string_view foreign_format(ByteView file) {
  std::string_view text = text_of(file);
  if (const Beginning* row = find_beginning(text)) return row->format;
  if (text.size() > kTarMagicAt && text.substr(kTarMagicAt).starts_with("ustar")) return "a tar archive";
  if (is_onnx(text)) return "an ONNX model";
  return "";
}

ZipKind recognise_zip(const Zip& zip) {
  if (zip.find("serialized_exported_program.json") != nullptr) return {.kind = FileKind::Pt2Zip, .root = ""};
  if (zip.members().empty()) return {};
  const std::string& first = zip.members().front().name;
  size_t slash = first.find('/');
  std::string root = slash == std::string::npos ? "" : first.substr(0, slash);
  FileKind kind = kind_of_container(zip, root.empty() ? "" : root + "/");
  return {.kind = kind, .root = std::move(root)};
}

std::optional<Diagnostic> refuse_tensor_file(ByteView file, const std::string& name) {
  std::string format,
      advice = "write the tensors from Python: safetensors.torch.save_file({\"in.0\": x}, \"x.safetensors\")";
  switch (FileKind kind = recognise(file); kind) {
    case FileKind::OtherZip: format = "a zip file, as torch.save and torch.export.save write"; break;
    case FileKind::LegacyTorchSave:
    case FileKind::PlainPickle: format = "a Python pickle"; break;
    case FileKind::Foreign: format = foreign_format(file); break;
    case FileKind::GitLfsPointer:
    case FileKind::Html: return refuse_file(kind, file, name);
    default: return std::nullopt;
  }
  if (text_of(file).starts_with("\x93NUMPY")) advice = "give it the ending `.npy`: `--inputs x.npy`";
  return diagnose(Kind::NotSafetensors, {{"format", format}, {"advice", advice}}, name);
}

Diagnostic refuse_file(FileKind kind, ByteView file, const std::string& name) {
  switch (kind) {
    case FileKind::Empty: return diagnose(Kind::EmptyFile, {}, name);
    case FileKind::LegacyTorchSave: return diagnose(Kind::LegacyTorchSave, {}, name);
    case FileKind::PlainPickle: return diagnose(Kind::ForeignFile, {{"format", std::string("a Python pickle")}}, name);
    case FileKind::Safetensors: return diagnose(Kind::SafetensorsFile, {}, name);
    case FileKind::GitLfsPointer:
      return diagnose(Kind::GitLfsPointer, {{"bytes", static_cast<int64_t>(file.size())}}, name);
    case FileKind::Html: return diagnose(Kind::HtmlPage, {}, name);
    case FileKind::Foreign: return diagnose(Kind::ForeignFile, {{"format", std::string(foreign_format(file))}}, name);
    case FileKind::Pt2Zip:
    case FileKind::Pt2:
    case FileKind::AotInductorOnly:
    case FileKind::TorchScript:
    case FileKind::TorchSave:
    case FileKind::TorchPackage:
    case FileKind::OtherZip:
    case FileKind::Unknown: break;
  }
  return diagnose(Kind::UnknownFile, {{"beginning", quoted(text_of(file).substr(0, 8))}}, name);
}

}  // namespace torchlift::archive
