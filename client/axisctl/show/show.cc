#include "client/axisctl/show/show.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "client/axisctl/files.h"
#include "client/axisctl/ops/ops_text.h"
#include "client/axisctl/show/picture.h"

namespace axis {
namespace {

constexpr int64_t kMostElements = 1024;  // more is no picture

absl::StatusOr<Tensor> Numbers(const std::vector<int64_t>& shape) {
  const absl::StatusOr<int64_t> count = ShapeBytes(shape, 1);
  if (!count.ok() || *count > kMostElements)
    return absl::InvalidArgumentError(absl::StrCat("--shape must hold at most ",
                                                   kMostElements,
                                                   " elements for a picture"));
  std::vector<int64_t> numbers(static_cast<size_t>(*count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return MakeTensor(shape, std::move(numbers));
}

}  // namespace

ExitStatus Show(const CommandLine& line) {
  if (!line.reading.shape)
    return Complain("show must have a --shape, such as --shape=2,3");
  const absl::StatusOr<std::vector<pb::Op>> ops =
      ParseOps(absl::MakeConstSpan(line.words).subspan(1));
  if (!ops.ok()) return Complain(ops.status().message());
  const absl::StatusOr<Tensor> before = Numbers(*line.reading.shape);
  if (!before.ok()) return Complain(before.status().message());
  const absl::StatusOr<std::unique_ptr<Client>> client = Connect(line);
  if (!client.ok()) return Complain(client.status().message());
  const absl::StatusOr<std::vector<Tensor>> after =
      (*client)->RunPipeline({&*before, 1}, *ops);
  if (!after.ok()) return Report(after.status(), line);

  std::vector<Numbered> drawn;
  drawn.push_back({before->shape, *Elements<int64_t>(*before)});
  for (const Tensor& tensor : *after) {
    absl::StatusOr<std::vector<int64_t>> numbers = Elements<int64_t>(tensor);
    if (!numbers.ok()) return Complain(numbers.status().message());
    drawn.push_back({tensor.shape, *std::move(numbers)});
  }
  if (line.output.empty()) {
    // https://no-color.org
    const bool colours =
        isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
    std::fputs(DrawText(drawn, colours).c_str(), stdout);
    return kDone;
  }
  absl::StatusOr<File> file = File::Create(line.output);
  if (!file.ok()) return Complain(file.status().message());
  absl::Status status = file->Write(DrawSvg(drawn));
  if (status.ok()) status = file->Close();
  return status.ok() ? kDone : Complain(status.message());
}

}  // namespace axis
