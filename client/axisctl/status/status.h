// `axisctl status` and `axisctl top`: how a server is, and what it is doing.
#pragma once

#include <string>

#include "client/axisctl/command_line.h"
#include "client/axisctl/connection.h"
#include "client/axisctl/status/metrics_page.h"

namespace axis {

// Shows it once, or again and again until interrupted or the server is gone.
// Refused: it does not serve.
ExitStatus Status(const CommandLine& line, bool again);

// What two pages, `seconds` apart, say, as lines of text.
std::string Describe(const MetricsPage& before, const MetricsPage& after,
                     double seconds);

}  // namespace axis
