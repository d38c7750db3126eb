// The end records and the directory of a zip file, checked against the local headers. The format: PKWARE's APPNOTE,
// sections 4.3 (records) and 4.5.3 (zip64).
#pragma once

#include <string>
#include <vector>

#include "archive/zip.hpp"
#include "base/bytes.hpp"
#include "base/result.hpp"

namespace torchlift::archive {

// For diagnostics: the file, and the member of it that is the zip (empty: the whole file).
struct ZipPlace {
  std::string file;
  std::string member;
};

// All members, in the order of the directory; offsets count from the start of `zip`. Checked: every member lies before
// the directory, none overlap, names are plain relative paths, local headers agree. Not checked: duplicate names.
Result<std::vector<Member>> read_directory(ByteView zip, const ZipPlace& place);

}  // namespace torchlift::archive
