// Writes the lines of the log behind the back of whoever logs: a full disk, a
// slow pipe or a closed standard error must not keep a call waiting.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace axis {

// Thread-safe.
class LogWriter {
 public:
  // Writes to `descriptor`, from a thread of its own.
  explicit LogWriter(int descriptor);

  // Waits, but not for long, for what is not yet written.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Has `line` written, or drops it if a MiB of others waits.
  void Add(const std::string& line);

  // Lines that were dropped, or could not be written.
  int64_t dropped() const;

 private:
  // Outlives this where a write hangs.
  struct State;
  static void Run(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;
};

}  // namespace axis
