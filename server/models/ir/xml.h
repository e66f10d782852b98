// OpenVINO IR as written: layers, ports and edges, not yet understood.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace axis {

// A layer and what its <data> says.
struct IrLayer {
  struct Port {
    std::string id;
    std::string tensor;  // the first of its names, if it has any
  };

  std::string id, name, type;
  std::map<std::string, std::string> data;
  std::vector<Port> inputs, outputs;  // in the order of the operation
};

struct IrNet {
  using PortId = std::pair<std::string, std::string>;  // layer, port

  std::vector<IrLayer> layers;
  std::map<PortId, PortId> sources;  // of an input: the output it reads
};

// Entities are not resolved, and a document type is skipped.
// Errors: kInvalidArgument  not XML, not an IR, too many layers, an edge or a
//                           layer that is there twice
absl::StatusOr<IrNet> ParseIr(const std::string& xml);

}  // namespace axis
