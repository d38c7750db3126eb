#include "archive/archive.hpp"

#include <algorithm>

#include "archive/inflate.hpp"
#include "archive/torch_save.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::archive {
namespace {

// What a torch.save file holds: a module, or tensors without a program.
Diagnostic refuse_torch_save(const Archive& archive) {
  Result<TorchSave> saved = TorchSave::read(archive.zip(), UnknownGlobals::Keep);
  if (!saved) return saved.error();
  const Pickle& pickle = saved->pickle();
  // Objects are made before what they hold, so the first module is the outermost.
  int64_t tensors = 0;
  for (size_t i = 0; i < pickle.values.size(); ++i) {
    PickleId id(i);
    bool object = pickle.get_if<PickleObject>(id) != nullptr;
    if (object && (id == pickle.root || pickle.attribute(id, "_modules").has_value()))
      return diagnose(Kind::PickledModule, {{"class", pickle.class_name(id)}}, archive.name());
    // A parameter is made of a tensor that is counted already.
    const auto* tensor = pickle.get_if<PickleTensor>(id);
    if (tensor != nullptr && !tensor->is_parameter) ++tensors;
  }
  return diagnose(Kind::BareStateDict, {{"tensors", tensors}}, archive.name());
}

Status check_container(const Archive& archive) {
  TRY(MemberBytes format, archive.read("archive_format"));
  auto place = [&](Diagnostic diagnostic, std::string_view member) {
    diagnostic.place.file = archive.name();
    diagnostic.place.member = archive.member_name(member);
    return diagnostic;
  };
  if (format.text() != "pt2")
    return place(diagnose(Kind::ArchiveFormat, {{"format", quoted(format.text().substr(0, 40))}}), "archive_format");
  if (archive.find("archive_version") != nullptr) {
    TRY(MemberBytes version, archive.read("archive_version"));
    if (version.text() != "0")
      return place(diagnose(Kind::ArchiveVersion, {{"version", quoted(version.text().substr(0, 40))}}),
                   "archive_version");
  }
  TRY_OK(check_byte_order(archive.zip(), archive.root()));
  std::string folder = archive.member_name("models/");
  const auto& members = archive.zip().members();
  bool program = std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return member.name.starts_with(folder) && member.name.ends_with(".json");
  });
  if (!program) return diagnose(Kind::MemberMissing, {{"name", folder + "model.json"}}, archive.name());
  return Unit{};
}

}  // namespace

Result<std::unique_ptr<Archive>> Archive::open(const std::string& path) {
  TRY(File file, File::open(path));
  return from_source(std::make_unique<Source>(std::move(file)));
}

Result<std::unique_ptr<Archive>> Archive::from_memory(ByteView bytes, std::string name) {
  TRY(Buffer copy, Buffer::allocate(bytes.size(), name));
  std::copy(bytes.begin(), bytes.end(), copy.bytes().begin());
  return from_source(std::make_unique<Source>(std::move(copy), std::move(name)));
}

Result<std::unique_ptr<Archive>> Archive::from_source(std::unique_ptr<Source> source) {
  FileKind kind = recognise(source->bytes());
  if (kind != FileKind::OtherZip) return refuse_file(kind, source->bytes(), source->name());
  TRY(Zip zip, Zip::open(*source));
  std::unique_ptr<Archive> archive(new Archive(std::move(source), std::move(zip)));
  ZipKind found = recognise_zip(archive->zip_);
  archive->kind_ = found.kind;
  archive->root_ = std::move(found.root);
  return archive;
}

std::string Archive::member_name(std::string_view path) const {
  return root_.empty() ? std::string(path) : root_ + "/" + std::string(path);
}

Result<Zip> Archive::nested(const Member& member) {
  Record record = zip_.record(member);
  const Source* source = record.source;
  if (!record.is_stored()) {
    ByteView stream = source->bytes().subspan(record.offset, record.stored_size);
    TRY(Buffer buffer, inflate(stream, record.size, member.name, name()));
    if (uint32_t crc = crc32(0, buffer.bytes()); crc != member.crc)
      return crc_mismatch(Kind::MemberCrc, member.name, crc, member.crc, name());
    inflated_.push_back(std::make_unique<Source>(std::move(buffer), name()));
    source = inflated_.back().get();
    record.offset = 0;
  }
  ByteView bytes = source->bytes().subspan(record.offset, record.size);
  if (FileKind kind = recognise(bytes); kind != FileKind::OtherZip) {
    Diagnostic refusal = refuse_file(kind, bytes, name());
    refusal.place.member = member.name;
    return refusal;
  }
  return Zip::open(*source, record.offset, record.size, member.name);
}

Status expect_pt2(const Archive& archive) {
  switch (archive.kind()) {
    case FileKind::Pt2Zip: return Unit{};
    case FileKind::Pt2: return check_container(archive);
    case FileKind::AotInductorOnly: return diagnose(Kind::AotInductorOnly, {}, archive.name());
    case FileKind::TorchScript: return diagnose(Kind::TorchScriptFile, {}, archive.name());
    case FileKind::TorchSave: return refuse_torch_save(archive);
    case FileKind::TorchPackage: return diagnose(Kind::TorchPackageFile, {}, archive.name());
    case FileKind::OtherZip:
    case FileKind::Empty:
    case FileKind::LegacyTorchSave:
    case FileKind::PlainPickle:
    case FileKind::Safetensors:
    case FileKind::GitLfsPointer:
    case FileKind::Html:
    case FileKind::Foreign:
    case FileKind::Unknown: break;
  }
  return diagnose(Kind::OtherZip, {{"root", archive.member_name("")}}, archive.name());
}

}  // namespace torchlift::archive
