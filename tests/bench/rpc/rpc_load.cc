// Calls servers and measures what it costs, as run.py tells it to: reads one
// command a line from standard input and answers in one line.
//
//   measure shape=4,4,4,4 in_flight=1 connections=1 rounds=5 seconds=0.1
//     gap=0 NAME=KIND@PID@ADDRESS...  (all in one line)
//
// Every round, each NAME in turn is called for so many seconds, at least once,
// in the opposite order every other round, `gap` seconds after the last one.
// Without a gap, what is timed comes after as long that is not. KIND is one of
// Workload::MakeExchange, or `memcpy`, `copy` or `copy_shm`: in this process,
// without PID and ADDRESS. The answer is JSON: what each took, or an "error".
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/tune.h"
#include "server/process/host.h"
#include "tbb/task_arena.h"
#include "tests/bench/rpc/call.h"
#include "tests/bench/rpc/figures.h"
#include "tests/bench/rpc/workload.h"

namespace axis::bench {
namespace {

using Options = std::map<std::string, std::string>;

constexpr int kTries = 4;  // of a burst until it is quiet; the last one counts

// How to load a server.
struct Load {
  int in_flight = 1;
  int connections = 1;
  double seconds = 0;  // at least one call is made whatever it says
  int calls = 1;       // at least
  bool warm = false;   // after as long that is not timed
};
struct Runner {
  std::string name, kind, address;
  pid_t pid = 0;  // 0 for what runs in this process
  Exchange exchange = {};
  std::string error = {};

  Figures figures = {};
  int64_t calls = 0;  // all, with those before the clock started
};

class Generator {
 public:
  std::string Measure(const Options& options, std::vector<Runner> runners);

 private:
  // Every connection is kept for the cases to come.
  grpc::GenericStub& Stub(const std::string& address, int connection);

  std::unique_ptr<Call> CallOnce(Runner& runner);
  void WarmUp(Runner& runner, Load load);
  // Appends the seconds that each call took to `latencies`.
  void Burst(Runner& runner, const Load& load, std::vector<double>& latencies);
  void BurstInProcess(Runner& runner, const Load& load,
                      std::vector<double>& latencies);
  void MeasureRound(Runner& runner, const Load& load);

  tbb::task_arena arena_{AvailableCpus()};
  grpc::CompletionQueue queue_;
  std::map<std::string, std::vector<std::unique_ptr<grpc::GenericStub>>> stubs_;
  std::unique_ptr<Workload> workload_;
};

grpc::GenericStub& Generator::Stub(const std::string& address, int connection) {
  auto& stubs = stubs_[address];
  while (stubs.size() <= static_cast<size_t>(connection)) {
    grpc::ChannelArguments args;
    args.SetMaxReceiveMessageSize(-1);
    args.SetMaxSendMessageSize(-1);
    args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel = grpc::CreateCustomChannel(
        address, grpc::InsecureChannelCredentials(), args);
    if (!channel->WaitForConnected(std::chrono::system_clock::now() +
                                   std::chrono::seconds(10)))
      throw std::runtime_error("cannot connect to " + address);
    stubs.push_back(std::make_unique<grpc::GenericStub>(channel));
  }
  return *stubs[static_cast<size_t>(connection)];
}

void Generator::Burst(Runner& runner, const Load& load,
                      std::vector<double>& latencies) {
  if (runner.pid == 0) return BurstInProcess(runner, load, latencies);
  struct Slot {
    std::unique_ptr<Call> call;
    Clock::time_point start;
  };
  std::map<Call*, Slot> slots;
  const Clock::time_point start = Clock::now();
  int64_t started = 0;
  int pending = 0;
  const auto begin = [&](Slot& slot) {
    grpc::GenericStub& stub =
        Stub(runner.address, static_cast<int>(started++ % load.connections));
    ++pending;
    slot.start = Clock::now();
    slot.call->Start(stub, queue_);
  };
  for (int i = 0; i < load.in_flight; ++i) {
    auto call = MakeCall(runner.exchange, /*keep_responses=*/false);
    Call* const key = call.get();
    begin(slots[key] = Slot{std::move(call), {}});
  }
  void* tag = nullptr;
  bool ok = false;
  while (pending > 0 && queue_.Next(&tag, &ok)) {
    const auto [call, operation] = *static_cast<Tag*>(tag);
    if (!call->Proceed(operation, ok)) continue;
    Slot& slot = slots[call];
    latencies.push_back(Since(slot.start));
    --pending;
    if (!call->status().ok() ||
        (runner.exchange.output == nullptr &&
         call->received_bytes() < static_cast<size_t>(workload_->bytes())))
      runner.error = "a call failed: " + call->status().error_message();
    if (runner.error.empty() &&
        (started < load.calls || Since(start) < load.seconds))
      begin(slot);
  }
  runner.calls += started;
}

void Generator::BurstInProcess(Runner& runner, const Load& load,
                               std::vector<double>& latencies) {
  // Like a request in the server.
  arena_.execute([&] {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < load.calls || Since(start) < load.seconds; ++i) {
      const Clock::time_point begin = Clock::now();
      if (runner.kind == "memcpy") workload_->Memcpy();
      if (runner.kind == "copy") workload_->Copy();
      if (runner.kind == "copy_shm") workload_->CopyShared();
      latencies.push_back(Since(begin));
    }
  });
}

std::unique_ptr<Call> Generator::CallOnce(Runner& runner) {
  auto call = MakeCall(runner.exchange, /*keep_responses=*/true);
  call->Start(Stub(runner.address, 0), queue_);
  void* tag = nullptr;
  for (bool ok = false; queue_.Next(&tag, &ok);)
    if (call->Proceed(static_cast<Tag*>(tag)->operation, ok)) break;
  return call;
}

// Checks an answer; then brings connections, memory and caches of the server
// to where they are in the middle of its work.
void Generator::WarmUp(Runner& runner, Load load) {
  std::vector<double> ignored;
  load.calls = std::max(workload_->bytes() >> 26 ? 2 : 8, 2 * load.connections);
  load.seconds = 0;
  if (runner.pid == 0) return Burst(runner, load, ignored);
  if (runner.kind == "shm") {
    // If that fails, the call that names it will tell.
    runner.exchange = workload_->MakeExchange("register");
    CallOnce(runner);
  }
  runner.exchange = workload_->MakeExchange(runner.kind);
  const auto call = CallOnce(runner);
  ++runner.calls;
  if (!call->status().ok()) {
    runner.error = std::to_string(call->status().error_code()) + " " +
                   call->status().error_message();
    return;
  }
  const std::string complaint =
      workload_->Complaint(runner.exchange, call->responses());
  if (!complaint.empty()) runner.error = "the answer is " + complaint;
  if (runner.error.empty()) Burst(runner, load, ignored);
}

void Generator::MeasureRound(Runner& runner, const Load& load) {
  std::vector<double> latencies;
  const bool remote = runner.pid != 0;
  // Whoever ran before has used the caches, and the memory of sockets: that is
  // new to every first call, of all the bytes that it sends.
  if (load.warm) Burst(runner, load, latencies);
  Usage server, client;
  double seconds = 0;
  // Those after idleness cannot be had again, nor long ones beside others.
  int tries = load.warm && load.seconds < 1 ? kTries : 1;
  for (bool quiet = false; !quiet && tries > 0; --tries) {
    latencies.clear();
    server = remote ? UsageOf(runner.pid) : Usage{};
    client = UsageOf(getpid());
    const StealWatch watch;
    Burst(runner, load, latencies);
    seconds = watch.Seconds();
    quiet = watch.WasQuiet();
  }
  const Usage& before = remote ? server : client;
  const Usage used = UsageOf(remote ? runner.pid : getpid());
  Figures& figures = runner.figures;
  figures.seconds += seconds;
  figures.server_cpu += used.cpu_seconds - before.cpu_seconds;
  figures.faults += used.minor_faults - before.minor_faults;
  if (remote)
    figures.client_cpu += UsageOf(getpid()).cpu_seconds - client.cpu_seconds;
  for (double& latency : latencies) latency *= 1e6;
  figures.latencies_us.insert(figures.latencies_us.end(), latencies.begin(),
                              latencies.end());
  figures.round_p50_us.push_back(Quantile(latencies, 0.5));
}

std::string Generator::Measure(const Options& options,
                               std::vector<Runner> runners) {
  Shape shape;
  for (const auto extent : absl::StrSplit(options.at("shape"), ','))
    shape.push_back(std::stoll(std::string(extent)));
  if (workload_ == nullptr || workload_->shape() != shape) {
    workload_.reset();
    workload_ = std::make_unique<Workload>(shape);
  }
  Load load{.in_flight = std::stoi(options.at("in_flight")),
            .connections = std::stoi(options.at("connections")),
            .seconds = std::stod(options.at("seconds"))};
  for (Runner& runner : runners) {
    WarmUp(runner, load);
    if (runner.pid != 0) ResetPeak(runner.pid);
  }
  const int rounds = std::stoi(options.at("rounds"));
  const std::chrono::duration<double> gap(std::stod(options.at("gap")));
  load.warm = gap.count() == 0;
  for (int round = 0; round < rounds; ++round) {
    std::this_thread::sleep_for(gap);
    for (Runner& runner : runners)
      if (runner.error.empty()) MeasureRound(runner, load);
    std::reverse(runners.begin(), runners.end());
  }
  std::vector<std::string> answers;
  for (Runner& runner : runners) {
    const pid_t pid = runner.pid != 0 ? runner.pid : getpid();
    std::replace(runner.error.begin(), runner.error.end(), '"', '\'');
    answers.push_back(absl::StrCat(
        "\"", runner.name, "\": ",
        runner.error.empty()
            ? runner.figures.Json(workload_->bytes(), runner.calls,
                                  PeakMiB(pid))
            : absl::StrCat("{\"error\": \"", runner.error, "\"}")));
  }
  return absl::StrCat("{", absl::StrJoin(answers, ", "), "}");
}

void Serve() {
  Generator generator;
  for (std::string line, word; std::getline(std::cin, line);) {
    std::istringstream words(line);
    Options options;
    std::vector<Runner> runners;
    if (words >> word; word != "measure")
      throw std::invalid_argument("unknown command " + line);
    while (words >> word) {
      const std::pair<std::string, std::string> pair =
          absl::StrSplit(word, absl::MaxSplits('=', 1));
      if (pair.second.find('@') == std::string::npos) {
        options.insert(pair);
        continue;
      }
      const std::vector<std::string> parts = absl::StrSplit(pair.second, '@');
      runners.push_back({.name = pair.first,
                         .kind = parts.at(0),
                         .address = parts.at(2),
                         .pid = std::stoi(parts.at(1))});
    }
    std::cout << generator.Measure(options, std::move(runners)) << std::endl;
  }
}

}  // namespace
}  // namespace axis::bench

int main() {
  axis::PrepareProcess();
  axis::TuneProcess();
  axis::LimitFiles(INT64_MAX);
  try {
    axis::bench::Serve();
  } catch (const std::exception& error) {
    std::cerr << "rpc_load: " << error.what() << std::endl;
    return 1;
  }
}
