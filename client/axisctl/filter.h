// What axisctl is for: .npy in, ops, .npy out.
#pragma once

#include "client/axisctl/command_line.h"
#include "client/axisctl/connection.h"

namespace axis {

// Sends standard input through the ops that `line` names, and writes what comes
// back. Inputs above --stream_above are read, sent, received and written at the
// same time, in pieces, and never held whole; but for those in Fortran order.
ExitStatus Filter(const CommandLine& line);

}  // namespace axis
