#include "client/axisctl/filter.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/axisctl/files.h"
#include "client/axisctl/ops/ops_text.h"
#include "client/axisctl/progress.h"
#include "client/npy/npy.h"

namespace axis {
namespace {

// The files of the outputs, one after another.
class Outputs {
 public:
  explicit Outputs(const CommandLine& line) : name_(line.output) {}

  bool numbered() const { return name_.find("%d") != std::string::npos; }

  // Begins the file of the next output if `piece` has a header, and writes its
  // data.
  absl::Status Write(const Tensor& piece) {
    if (piece.data_type != pb::DATA_TYPE_UNSPECIFIED) {
      const absl::Status status = Begin(piece);
      if (!status.ok()) return status;
    }
    for (const absl::Span<const std::byte> bytes : piece.data.Pieces()) {
      const absl::Status status = file_->Write(absl::string_view(
          reinterpret_cast<const char*>(bytes.data()), bytes.size()));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // The last output is complete.
  absl::Status Close() { return file_ ? file_->Close() : absl::OkStatus(); }

  static absl::Status TooMany(absl::string_view how_many) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", how_many,
                     " outputs; name their files with --output, %d for the "
                     "number"));
  }

 private:
  absl::Status Begin(const Tensor& tensor) {
    if (count_ > 0 && !numbered()) return TooMany("several");
    const absl::StatusOr<std::string> header = NpyHeaderOf(tensor);
    if (!header.ok()) return header.status();
    if (const absl::Status status = Close(); !status.ok()) return status;
    absl::StatusOr<File> file = File::Create(
        name_.empty()
            ? "-"
            : absl::StrReplaceAll(name_, {{"%d", absl::StrCat(count_)}}));
    if (!file.ok()) return file.status();
    ++count_;
    file_.emplace(*std::move(file));
    return file_->Write(*header);
  }

  const std::string name_;
  std::optional<File> file_;
  int count_ = 0;
};

// The elements of a .npy file, piece by piece.
class Pieces {
 public:
  // `begun` is what was read of `file` already, of which the header is first.
  Pieces(File& file, const NpyHeader& header, std::string begun)
      : file_(file), header_(header), begun_(std::move(begun)) {
    begun_.erase(0, header.data_offset);
  }

  // The next one; none at the end. Errors: the file is too short or too long
  absl::StatusOr<Bytes> Next() {
    constexpr size_t kMost = Client::kPieceBytes;
    const uint64_t due = static_cast<uint64_t>(header_.data_bytes);
    std::string piece = std::exchange(begun_, "");
    const uint64_t rest = due - std::min<uint64_t>(due, done_ + piece.size());
    const size_t had = piece.size();
    const size_t take = std::min<uint64_t>(rest, kMost - std::min(kMost, had));
    // Where it must end, look whether it does.
    piece.resize(had + take + (take == rest ? 1 : 0));
    const absl::StatusOr<size_t> got =
        file_.Read(piece.data() + had, piece.size() - had);
    if (!got.ok()) return got.status();
    done_ += had + *got;
    if (done_ > due || *got < take)
      return absl::InvalidArgumentError(absl::StrCat(
          file_.name(), ": ", WrongNpySize(header_, done_).message(),
          done_ > due ? " or more" : ""));
    piece.resize(had + *got);
    ToLittleEndian(header_, piece.data(), piece.size());
    return Bytes::Own(std::move(piece));
  }

 private:
  File& file_;
  const NpyHeader& header_;
  std::string begun_;
  uint64_t done_ = 0;
};

ExitStatus FilterStream(const CommandLine& line, Client& client,
                        absl::Span<const pb::Op> ops, const Tensor& tensor,
                        Pieces pieces, int64_t total) {
  Outputs outputs(line);
  // Said before the first byte goes to a place that holds one output alone.
  for (const pb::Op& op : ops)
    if (op.variadic_split().split_lengths_size() > 1 && !outputs.numbered())
      return Complain(Outputs::TooMany("several").message());
  std::atomic<int64_t> sent = 0, received = 0;
  absl::Status read, written;  // errors of ours, not of the server
  absl::Status status;
  {
    Progress progress("streaming", 2 * total, [&] {
      return absl::StrCat(", ", sent >> 20, " MiB sent, ", received >> 20,
                          " MiB received");
    });
    status = client.StreamPipeline(
        tensor, ops,
        [&](const Tensor& piece) {
          written = outputs.Write(piece);
          received += static_cast<int64_t>(piece.data.size());
          progress.Set(sent + received);
          return written;
        },
        [&]() -> absl::StatusOr<Bytes> {
          absl::StatusOr<Bytes> piece = pieces.Next();
          if (piece.ok()) sent += static_cast<int64_t>(piece->size());
          progress.Set(sent + received);
          read = piece.status();
          return piece;
        });
  }
  if (!read.ok()) return Complain(read.message());
  if (!written.ok()) return Complain(written.message());
  if (!status.ok()) return Report(status, line);
  written = outputs.Close();
  return written.ok() ? kDone : Complain(written.message());
}

void PrintLatencies(std::vector<absl::Duration> latencies, size_t bytes) {
  absl::Duration total;
  for (const absl::Duration latency : latencies) total += latency;
  std::sort(latencies.begin(), latencies.end());
  const auto quantile = [&](size_t percent) {
    return absl::ToDoubleMilliseconds(
        latencies[(latencies.size() - 1) * percent / 100]);
  };
  std::fprintf(
      stderr, "%zu calls: p50 %.3f ms, p99 %.3f ms, %.3f GB/s (both ways)\n",
      latencies.size(), quantile(50), quantile(99),
      static_cast<double>(bytes) * static_cast<double>(latencies.size()) /
          absl::ToDoubleSeconds(total) / 1e9);
}

// Calls as often as the user said, and tells how long it took if that is more
// than once.
absl::StatusOr<std::vector<Tensor>> RunAll(const CommandLine& line,
                                           Client& client,
                                           absl::Span<const pb::Op> ops,
                                           const Tensor& tensor) {
  absl::StatusOr<std::vector<Tensor>> outputs;
  std::vector<absl::Duration> latencies;
  {
    Progress progress("waiting", line.repeat > 1 ? line.repeat : 0);
    for (int i = 0; i < line.repeat; ++i) {
      const absl::Time begin = absl::Now();
      outputs = client.RunPipeline({&tensor, 1}, ops);
      latencies.push_back(absl::Now() - begin);
      if (!outputs.ok()) return outputs;
      progress.Set(i + 1);
    }
  }
  size_t bytes = tensor.data.size();
  for (const Tensor& output : *outputs) bytes += output.data.size();
  if (line.repeat > 1) PrintLatencies(std::move(latencies), bytes);
  return outputs;
}

ExitStatus FilterWhole(const CommandLine& line, Client& client,
                       absl::Span<const pb::Op> ops, const Tensor& tensor) {
  const absl::StatusOr<std::vector<Tensor>> tensors =
      RunAll(line, client, ops, tensor);
  if (!tensors.ok()) return Report(tensors.status(), line);
  Outputs outputs(line);
  if (tensors->size() > 1 && !outputs.numbered())
    return Complain(Outputs::TooMany(absl::StrCat(tensors->size())).message());
  absl::Status status;
  for (const Tensor& output : *tensors)
    if (status.ok()) status = outputs.Write(output);
  if (status.ok()) status = outputs.Close();
  return status.ok() ? kDone : Complain(status.message());
}

}  // namespace

ExitStatus Filter(const CommandLine& line) {
  const absl::StatusOr<std::vector<pb::Op>> ops = ParseOps(line.words);
  if (!ops.ok()) return Complain(ops.status().message());
  const absl::StatusOr<std::unique_ptr<Client>> client = Connect(line);
  if (!client.ok()) return Complain(client.status().message());
  if (isatty(STDIN_FILENO))
    return Complain("must read a .npy file: axisctl ... < in.npy");
  if (line.output.empty() && isatty(STDOUT_FILENO))
    return Complain("must not write to a terminal: axisctl ... > out.npy");

  absl::StatusOr<File> in = File::Open("-");
  if (!in.ok()) return Complain(in.status().message());
  std::string begun(kMaxNpyHeaderBytes, '\0');
  const absl::StatusOr<size_t> got = in->Read(begun.data(), begun.size());
  if (!got.ok()) return Complain(got.status().message());
  begun.resize(*got);
  const auto refused = [](const absl::Status& status) {
    return Complain(absl::StrCat("standard input: ", status.message()));
  };
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(begun);
  if (!header.ok()) return refused(header.status());
  absl::StatusOr<Tensor> tensor = NpyTensor(*header, line.reading);
  if (!tensor.ok()) return refused(tensor.status());
  if (header->data_bytes > line.stream_above && line.repeat == 1 &&
      tensor->data_type != pb::DATA_TYPE_STRING &&
      (!header->fortran_order || header->shape.size() < 2))
    return FilterStream(line, **client, *ops, *tensor,
                        Pieces(*in, *header, std::move(begun)),
                        header->data_bytes);

  absl::StatusOr<std::string> file = ReadRest(*in, std::move(begun));
  if (!file.ok()) return Complain(file.status().message());
  tensor = ReadNpy(*std::move(file), line.reading);
  if (!tensor.ok()) return refused(tensor.status());
  return FilterWhole(line, **client, *ops, *tensor);
}

}  // namespace axis
