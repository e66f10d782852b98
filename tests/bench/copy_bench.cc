// Measures the engine, memcpy and the C++ peers, as run.py tells it to.
//
// usage: copy_bench THREADS small|huge [PIECE_BYTES]
//
// Reads one command a line from standard input and answers in one line:
//   case OP BITS SHAPE ARGUMENT...  -> CRC32 of the outputs, names of who runs
//   round                           -> seconds of one run, one for each name
//   latency                         -> "LABEL=NANOSECONDS ..." of a tiny case
// The arguments of each op are ReadCase()'s, lists being comma-separated.
#include <sys/mman.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string_view>
#include <thread>

#include "kernels/copy.h"
#include "tests/bench/peers/engine.h"

namespace axis::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSampleSeconds = 1.5e-3;
constexpr double kWarmSeconds = 20e-3;
// The engine with one worker, where others have several: on the same pages, at
// the same time, for what both do to the small is the same.
constexpr std::string_view kAlone = "alone";
constexpr size_t kHugePage = size_t{2} << 20;

[[noreturn]] void Die(const std::string& why) {
  std::cerr << "copy_bench: " << why << std::endl;
  std::exit(1);
}

// Page-aligned memory of its own, on small or huge pages.
class Pages {
 public:
  Pages(size_t bytes, bool huge) : bytes_(bytes + 2 * kHugePage) {
    map_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map_ == MAP_FAILED) Die("no memory");
    madvise(map_, bytes_, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  }
  ~Pages() { munmap(map_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::byte* data() const {
    const auto at = reinterpret_cast<uintptr_t>(map_);
    return static_cast<std::byte*>(map_) + (kHugePage - at % kHugePage);
  }

 private:
  size_t bytes_;
  void* map_;
};

// One memcpy for each thread, cut on lines of 64 bytes.
Peer MemcpyPeer(size_t bytes, Buffers buffers, int threads) {
  if (threads == 1)
    return {"memcpy", [=] { std::memcpy(buffers.dst, buffers.src, bytes); }};
  const size_t part = (bytes / static_cast<size_t>(threads) + 63) / 64 * 64;
  return {"memcpy", [=] {
            tbb::parallel_for(
                0, threads,
                [&](int i) {
                  const size_t begin =
                      std::min(bytes, static_cast<size_t>(i) * part);
                  std::memcpy(buffers.dst + begin, buffers.src + begin,
                              std::min(part, bytes - begin));
                },
                tbb::static_partitioner());
          }};
}

double Seconds(const std::function<void()>& run, int64_t times) {
  const Clock::time_point start = Clock::now();
  for (int64_t i = 0; i < times; ++i) run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// How often `run` has to run to take kSampleSeconds.
int64_t TimesFor(const std::function<void()>& run) {
  int64_t times = 1;
  double seconds = Seconds(run, times);
  while (seconds < kSampleSeconds) {
    times = seconds < kSampleSeconds / 20
                ? times * 10
                : static_cast<int64_t>(static_cast<double>(times) * 1.1 *
                                       kSampleSeconds / seconds) +
                      1;
    seconds = Seconds(run, times);
  }
  return times;
}

// Runs until caches and clock are those of somebody at work, and each thread
// has a CPU: the kernel starts one that slept on that of the one that woke it.
void Warm(const std::function<void()>& run) {
  for (double seconds = 0; seconds < kWarmSeconds;) seconds += Seconds(run, 1);
}

// A case under measurement: its memory, and who has proven able to run it.
class Session {
 public:
  Session(Case c, int threads, bool huge, size_t piece_bytes)
      : case_(std::move(c)),
        threads_(threads),
        src_bytes_(static_cast<size_t>(case_.src_bytes)),
        dst_bytes_(static_cast<size_t>(case_.pieces.back().dst_offset +
                                       case_.pieces.back().bytes)),
        src_pages_(src_bytes_, huge),
        // A different phase of the page than the source, as luck would have.
        dst_pages_(dst_bytes_ + 33 * 64, huge),
        buffers_{src_pages_.data(), dst_pages_.data() + 33 * 64} {
    // Every float is a normal number, lest anybody quiet or flush it; run.py's
    // other workers know this formula too.
    for (size_t i = 0; i < src_bytes_; ++i) {
      uint32_t x = static_cast<uint32_t>(i) * 2654435761u;
      x = (x ^ x >> 15) * 2246822519u;
      src_pages_.data()[i] = static_cast<std::byte>(0x20 + (x >> 26));
    }
    std::vector<Peer> peers = {EnginePeer(case_, buffers_, piece_bytes),
                               MemcpyPeer(src_bytes_, buffers_, threads)};
    if (threads > 1) {
      peers.push_back(peers[0]);
      peers.back().name = kAlone;
    }
#ifdef AXIS_BENCH_DNNL
    std::ranges::move(DnnlPeers(case_, buffers_), std::back_inserter(peers));
#endif
#ifdef AXIS_BENCH_EIGEN
    std::ranges::move(EigenPeers(case_, buffers_, threads),
                      std::back_inserter(peers));
#endif
    for (const Piece& piece : case_.pieces)
      expected_.push_back(Expected(case_, piece, buffers_.src));
    for (Peer& peer : peers) {
      if (!Verify(peer)) continue;
      As(peer, [&] { times_.push_back(TimesFor(peer.run)); });
      peers_.push_back(std::move(peer));
    }
  }

  void PrintPeers(std::ostream& out) const {
    uLong crc = crc32(0, nullptr, 0);
    for (const std::vector<std::byte>& bytes : expected_)
      crc = crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()),
                    bytes.size());
    out << crc;
    for (const Peer& peer : peers_) out << '\t' << peer.name;
  }

  // Runs everybody once, beginning with another one each time.
  void PrintRound(std::ostream& out) {
    seconds_.resize(peers_.size());
    for (size_t i = 0; i < peers_.size(); ++i) {
      const size_t k = (i + round_) % peers_.size();
      As(peers_[k], [&] {
        // To one thread that takes long it matters little.
        if (threads_ > 1 || seconds_[k] < kWarmSeconds) Warm(peers_[k].run);
        seconds_[k] =
            Seconds(peers_[k].run, times_[k]) / static_cast<double>(times_[k]);
      });
      // OpenMP's threads spin for a while after their work.
      if (threads_ > 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ++round_;
    for (double s : seconds_) out << s << '\t';
  }

 private:
  // Calls f() with the workers that `peer` may engage.
  template <class F>
  void As(const Peer& peer, const F& f) {
    if (peer.name == kAlone)
      alone_.execute(f);
    else
      f();
  }

  // Whether the outputs of `peer` are right to the byte. It is fatal if those
  // of the engine are not.
  bool Verify(const Peer& peer) {
    if (peer.name == "memcpy") return true;
    std::memset(buffers_.dst, 0xa5, dst_bytes_);
    peer.run();
    for (size_t k = 0; k < case_.pieces.size(); ++k) {
      const Piece& piece = case_.pieces[k];
      if (std::memcmp(buffers_.dst + piece.dst_offset, expected_[k].data(),
                      expected_[k].size()) == 0)
        continue;
      if (peer.name == "engine" || peer.name == kAlone)
        Die("the engine is wrong");
      std::cerr << "  " << peer.name << " is wrong here; left out\n";
      return false;
    }
    return true;
  }

  Case case_;
  int threads_;
  tbb::task_arena alone_{1};
  size_t src_bytes_, dst_bytes_;
  Pages src_pages_, dst_pages_;
  Buffers buffers_;
  std::vector<std::vector<std::byte>> expected_;
  std::vector<Peer> peers_;
  std::vector<int64_t> times_;
  std::vector<double> seconds_;  // of the last round
  size_t round_ = 0;
};

// What the smallest request costs: 2x3x4 f32, order 2, 0, 1.
void PrintLatency(std::ostream& out) {
  std::istringstream text("Transpose 32 2,3,4 2,0,1");
  const Case c = ReadCase(text);
  alignas(64) std::byte src[96] = {}, dst[96];
  const std::span<const std::byte> source(src);
  const Op op = OpOf(c);
  const auto plan_and_copy = [&] {
    const Plan plan = CompilePlan((*Apply(op, Dense(c.shape)))[0], 32);
    const Target target{&plan, dst};
    Copy({&source, 1}, {&target, 1});
  };
  const auto compile_and_copy = [&] {
    const Program program = ProgramOf(c);
    const Target target{&program.passes[0].writes[0].plan, dst};
    Copy({&source, 1}, {&target, 1});
  };
  const auto print = [&](const char* label, const std::function<void()>& run) {
    std::vector<double> samples;
    const int64_t times = TimesFor(run);
    for (int i = 0; i < 13; ++i) samples.push_back(Seconds(run, times));
    std::ranges::nth_element(samples, samples.begin() + 6);
    out << label << '=' << samples[6] / static_cast<double>(times) * 1e9 << ' ';
  };
  print("copy", EnginePeer(c, {src, dst}).run);
  print("plan+copy", plan_and_copy);
  print("program+copy", compile_and_copy);
}

void Serve(int threads, bool huge, size_t piece_bytes) {
  std::unique_ptr<Session> session;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::ostringstream out;
    std::string command;
    in >> command;
    if (command == "case") {
      session.reset();
      session =
          std::make_unique<Session>(ReadCase(in), threads, huge, piece_bytes);
      session->PrintPeers(out);
    } else if (command == "round" && session != nullptr) {
      session->PrintRound(out);
    } else if (command == "latency") {
      PrintLatency(out);
    } else {
      Die("unknown command " + line);
    }
    std::cout << out.str() << std::endl;
  }
}

}  // namespace
}  // namespace axis::bench

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4)
    axis::bench::Die("usage: copy_bench THREADS small|huge [PIECE_BYTES]");
  const int threads = std::atoi(argv[1]);
  const bool huge = std::string(argv[2]) == "huge";
  const size_t piece_bytes =
      argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 0;
  // Like a request in the server, all runs inside one arena.
  tbb::task_arena arena(threads);
  arena.execute([&] { axis::bench::Serve(threads, huge, piece_bytes); });
}
