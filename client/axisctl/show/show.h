// `axisctl show`: a picture of what ops do, drawn from what the server answers.
#pragma once

#include "client/axisctl/command_line.h"
#include "client/axisctl/connection.h"

namespace axis {

// Sends the numbers 0, 1, ... of the shape that the user gave through the ops
// they named, and draws the tensors before and after: in the terminal, or as
// SVG into the file of --output.
ExitStatus Show(const CommandLine& line);

}  // namespace axis
