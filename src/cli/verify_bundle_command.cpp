// torchlift verify-bundle: whether a bundle is whole; with --run, whether its samples give what they should.
#include "base/json.hpp"
#include "base/kinds.hpp"
#include "bundle/read.hpp"
#include "bundle/verify.hpp"
#include "cli/compare.hpp"
#include "cli/execute.hpp"

namespace torchlift::cli {
namespace {

struct SampleRun {
  std::string file;
  std::vector<Comparison> comparisons;
};

Result<std::vector<SampleRun>> run_samples(const VerifyBundleOptions& options) {
  TRY(auto manifest, bundle::open(options.directory));
  if (manifest.samples.empty())
    return diagnose(Kind::SampleFile,
                    {{"problem", std::string("is missing: the bundle holds none")},
                     {"advice", std::string("import with `--sample FILE.safetensors`, or leave out `--run`")}},
                    options.directory);
  std::vector<SampleRun> out;
  for (auto& sample : manifest.samples) {
    std::string path = bundle::path_in(options.directory, sample.file);
    RunOptions run;
    run.model = options.directory;
    run.inputs = {path};
    run.plugin = options.plugin;
    TRY(auto file, read_case_file(path));
    TRY(auto execution, execute(run, file));
    TRY(auto comparisons, compare(file, execution.answer, path));
    out.push_back({sample.file, std::move(comparisons)});
  }
  return out;
}

}  // namespace

Result<Output> run_verify_bundle(const VerifyBundleOptions& options) {
  TRY(auto verification, bundle::verify(options.directory));
  Output out;
  JsonWriter json;
  size_t errors = 0;
  for (auto& finding : verification.findings) errors += finding.severity() == Severity::Error ? 1 : 0;
  json.begin_object();
  json.key("errors").integer(static_cast<int64_t>(errors));
  json.key("programs").integer(static_cast<int64_t>(verification.programs));
  json.key("tensors").integer(static_cast<int64_t>(verification.tensors));
  json.key("samples").begin_array();
  if (errors > 0) out.code = ExitCode::Refused;
  else
    out.text = std::to_string(verification.programs) + " programs, " + std::to_string(verification.tensors) +
               " weights: nothing is wrong\n";
  out.notes = std::move(verification.findings);
  if (options.run && errors == 0) {
    TRY(auto samples, run_samples(options));
    for (auto& sample : samples)
      for (auto& one : sample.comparisons) {
        json.begin_object().key("file").string(sample.file).key("key").string(one.key);
        json.key("equal").boolean(one.equal).key("text").string(one.text).end_object();
        out.text += (one.equal ? "equal      " : "different  ") + sample.file + "  " + one.key + "  " + one.text + "\n";
        if (!one.equal) out.code = ExitCode::Different;
      }
  }
  json.end_array().end_object();
  out.json = std::move(json).take();
  return out;
}

}  // namespace torchlift::cli
