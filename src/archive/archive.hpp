// An opened model file: the file, its zip directory, what it is, and the memory of nested archives that had to be
// inflated. Everything that points into it (zips, records, views) is valid as long as the Archive lives.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "archive/recognise.hpp"
#include "archive/record.hpp"
#include "archive/zip.hpp"
#include "base/result.hpp"

namespace torchlift::archive {

class Archive {
 public:
  // Files that are no zip are refused by a diagnostic that says what they are; any well-formed zip is opened (see
  // kind()).
  static Result<std::unique_ptr<Archive>> open(const std::string& path);
  static Result<std::unique_ptr<Archive>> from_memory(ByteView bytes, std::string name);  // copies the bytes

  FileKind kind() const { return kind_; }
  // The folder that holds everything ("model"); empty in Pt2Zip, whose members lie at top level.
  const std::string& root() const { return root_; }
  const std::string& name() const { return source_->name(); }
  const Source& source() const { return *source_; }
  const Zip& zip() const { return zip_; }

  // "model/" + path, or the path itself if the root is empty.
  std::string member_name(std::string_view path) const;
  const Member* find(std::string_view path) const { return zip_.find(member_name(path)); }
  Result<MemberBytes> read(std::string_view path) const { return zip_.read(member_name(path)); }

  // A zip that is a member (a torch.save file): in place where stored, inflated into memory of this archive where
  // deflated.
  Result<Zip> nested(const Member& member);

 private:
  Archive(std::unique_ptr<Source> source, Zip zip) : source_(std::move(source)), zip_(std::move(zip)) {}
  static Result<std::unique_ptr<Archive>> from_source(std::unique_ptr<Source> source);

  std::unique_ptr<Source> source_;
  Zip zip_;
  FileKind kind_ = FileKind::OtherZip;
  std::string root_;
  std::vector<std::unique_ptr<Source>> inflated_;
};

// Refuses everything but a `.pt2` with a program in it; says what the file is, and how to make the right one.
Status expect_pt2(const Archive& archive);

}  // namespace torchlift::archive
