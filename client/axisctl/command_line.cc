#include "client/axisctl/command_line.h"

#include <algorithm>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/client.h"

ABSL_FLAG(std::string, server, "localhost:8001",
          "where axisd listens: HOST:PORT or unix:PATH");
ABSL_FLAG(std::string, metrics, "localhost:8002",
          "where axisd serves metrics, for status and top: HOST:PORT");
ABSL_FLAG(absl::Duration, every, absl::Seconds(2),
          "what status and top count over, and how often top looks again");
ABSL_FLAG(std::string, output, "",
          "the file to write, %d for the number of the output; standard output "
          "if empty");
ABSL_FLAG(int, repeat, 1,
          "calls to make; more than one prints latency and throughput");
ABSL_FLAG(int64_t, stream_above, axis::Client::Options().stream_threshold_bytes,
          "an input of more bytes than this is streamed; a smaller one goes in "
          "one message, which --max_message_bytes of the server must allow");
ABSL_FLAG(absl::Duration, timeout, absl::Seconds(60),
          "the time that one call may take");
ABSL_FLAG(std::string, tls_ca, "",
          "a PEM file of the authorities to trust; turns TLS on");
ABSL_FLAG(std::string, tls_cert, "",
          "a PEM file of our certificate chain, for servers that ask");
ABSL_FLAG(std::string, tls_key, "", "a PEM file of the key of --tls_cert");
ABSL_FLAG(std::string, dtype, "",
          "the type of the elements if not what the file says: BF16, U4, ...");
ABSL_FLAG(
    std::string, layout, "",
    "how the array of the file, and those of the outputs, lie: NXC (channels "
    "last), NCX4C, NCX8C or NCX16C (in blocks, the last axis)");
ABSL_FLAG(std::string, shape, "",
          "the shape if not what the file says: 2,3; a scalar is ()");

namespace axis {
namespace {

// Not absl's parser: that exits with status 1, which here means that the
// server has refused a request.
absl::Status SetFlag(absl::string_view name, absl::string_view value) {
  absl::CommandLineFlag* const flag = absl::FindCommandLineFlag(name);
  std::string why;
  if (flag->ParseFrom(value, &why)) return absl::OkStatus();
  return absl::InvalidArgumentError(why);
}

// The value of an enum of the contract, named without the prefix that all have.
absl::StatusOr<int> ParseEnum(const google::protobuf::EnumDescriptor& type,
                              absl::string_view prefix, absl::string_view flag,
                              absl::string_view text) {
  const auto* const found =
      type.FindValueByName(absl::StrCat(prefix, absl::AsciiStrToUpper(text)));
  if (found != nullptr && found->number() != 0) return found->number();
  std::vector<std::string> names;
  for (int i = 1; i < type.value_count(); ++i)
    names.emplace_back(absl::StripPrefix(type.value(i)->name(), prefix));
  return absl::InvalidArgumentError(absl::StrCat(flag, " must be one of ",
                                                 absl::StrJoin(names, " "),
                                                 ", is '", text, "'"));
}

absl::StatusOr<std::vector<int64_t>> ParseShape(absl::string_view text) {
  absl::string_view extents = absl::StripAsciiWhitespace(text);
  const bool bare = !absl::ConsumePrefix(&extents, "(");
  const bool closed = absl::ConsumeSuffix(&extents, ")");
  std::vector<int64_t> shape;
  bool good = bare != closed;
  for (const absl::string_view extent :
       absl::StrSplit(extents, ',', absl::SkipWhitespace())) {
    int64_t value = 0;
    good = good && absl::SimpleAtoi(extent, &value) && value >= 0;
    shape.push_back(value);
  }
  if (good) return shape;
  return absl::InvalidArgumentError(absl::StrCat(
      "--shape must be extents of at least 0, such as 2,3 or (), is '", text,
      "'"));
}

// Checks what the types of the flags cannot.
absl::Status ReadFlags(CommandLine& result) {
  result.server = absl::GetFlag(FLAGS_server);
  result.metrics = absl::GetFlag(FLAGS_metrics);
  result.every = absl::GetFlag(FLAGS_every);
  result.output = absl::GetFlag(FLAGS_output);
  result.repeat = absl::GetFlag(FLAGS_repeat);
  result.stream_above = absl::GetFlag(FLAGS_stream_above);
  result.timeout = absl::GetFlag(FLAGS_timeout);
  result.tls_ca = absl::GetFlag(FLAGS_tls_ca);
  result.tls_cert = absl::GetFlag(FLAGS_tls_cert);
  result.tls_key = absl::GetFlag(FLAGS_tls_key);
  if (result.repeat < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("--repeat must be at least 1, is ", result.repeat));
  if (result.stream_above < 0)
    return absl::InvalidArgumentError(absl::StrCat(
        "--stream_above must be at least 0, is ", result.stream_above));
  if (result.timeout <= absl::ZeroDuration())
    return absl::InvalidArgumentError(
        absl::StrCat("--timeout must be more than 0, is ",
                     absl::FormatDuration(result.timeout)));
  if (result.every < absl::Milliseconds(100) || result.every > absl::Hours(1))
    return absl::InvalidArgumentError(
        absl::StrCat("--every must lie in [100ms, 1h], is ",
                     absl::FormatDuration(result.every)));
  if (result.tls_cert.empty() != result.tls_key.empty())
    return absl::InvalidArgumentError(
        "--tls_cert and --tls_key must be given together");
  if (const std::string dtype = absl::GetFlag(FLAGS_dtype); !dtype.empty()) {
    const absl::StatusOr<int> type =
        ParseEnum(*pb::DataType_descriptor(), "DATA_TYPE_", "--dtype", dtype);
    if (!type.ok()) return type.status();
    result.reading.data_type = static_cast<pb::DataType>(*type);
  }
  if (const std::string name = absl::GetFlag(FLAGS_layout); !name.empty()) {
    const absl::StatusOr<int> layout =
        ParseEnum(*pb::Layout_descriptor(), "LAYOUT_", "--layout", name);
    if (!layout.ok()) return layout.status();
    result.reading.layout = static_cast<pb::Layout>(*layout);
  }
  if (const std::string text = absl::GetFlag(FLAGS_shape); !text.empty()) {
    absl::StatusOr<std::vector<int64_t>> shape = ParseShape(text);
    if (!shape.ok()) return shape.status();
    result.reading.shape = *std::move(shape);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(int argc, char** argv) {
  CommandLine result;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (argument == "-h") argument = "--help";
    if (argument.size() < 2 || argument[0] != '-') {
      result.words.emplace_back(argument);
      continue;
    }
    if (argument == "--") {
      result.words.insert(result.words.end(), argv + i + 1, argv + argc);
      break;
    }
    if (argument == "--help" || argument == "--version") {
      result.words = {std::string(argument.substr(2))};
      return result;
    }
    absl::string_view name = argument.substr(argument[1] == '-' ? 2 : 1);
    const size_t equals = name.find('=');
    const bool has_value = equals != absl::string_view::npos;
    const absl::string_view value =
        has_value ? name.substr(equals + 1) : absl::string_view();
    name = name.substr(0, equals);
    if (absl::FindCommandLineFlag(name) == nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat("no flag --", name, "; axisctl help lists them"));
    if (!has_value && i + 1 == argc)
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " must have a value"));
    const absl::Status status = SetFlag(name, has_value ? value : argv[++i]);
    if (!status.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, ": ", status.message()));
  }
  const absl::Status status = ReadFlags(result);
  if (!status.ok()) return status;
  return result;
}

std::string DescribeFlags() {
  std::vector<std::string> lines;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    const std::string fallback = flag->DefaultValue();
    lines.push_back(absl::StrCat(
        "  --", name, fallback.empty() ? "" : absl::StrCat("=", fallback),
        "\n      ", flag->Help(), "\n"));
  }
  std::sort(lines.begin(), lines.end());
  return absl::StrJoin(lines, "");
}

}  // namespace axis
