#include "server/models/ir/xml.h"

#include <pugixml.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "kernels/status.h"

namespace axis {
namespace {

constexpr size_t kMaxLayers = 4096;
constexpr size_t kMaxPorts = 4096;  // of a layer

absl::Status Bad(absl::string_view why) {
  return absl::InvalidArgumentError(why);
}

absl::Status ReadPorts(const pugi::xml_node& node,
                       std::vector<IrLayer::Port>& ports) {
  for (const pugi::xml_node port : node.children("port")) {
    if (ports.size() == kMaxPorts)
      return Bad(absl::StrCat("must have at most ", kMaxPorts, " ports"));
    // Names are separated by commas; the first one is enough.
    const std::string names = port.attribute("names").value();
    ports.push_back(
        {port.attribute("id").value(), names.substr(0, names.find(','))});
  }
  return absl::OkStatus();
}

absl::StatusOr<IrLayer> ReadLayer(const pugi::xml_node& node) {
  IrLayer layer{node.attribute("id").value(),
                node.attribute("name").value(),
                node.attribute("type").value(),
                {},
                {},
                {}};
  if (layer.id.empty()) return Bad("a layer must have an id");
  if (layer.name.empty()) layer.name = layer.id;
  for (const pugi::xml_attribute attribute : node.child("data").attributes())
    layer.data.emplace(attribute.name(), attribute.value());
  AXIS_RETURN_IF_ERROR(ReadPorts(node.child("input"), layer.inputs));
  AXIS_RETURN_IF_ERROR(ReadPorts(node.child("output"), layer.outputs));
  return layer;
}

}  // namespace

absl::StatusOr<IrNet> ParseIr(const std::string& xml) {
  // Neither the parser nor the destructor recurses.
  pugi::xml_document document;
  const pugi::xml_parse_result result =
      document.load_buffer(xml.data(), xml.size());
  if (!result)
    return Bad(absl::StrCat("not XML: ", result.description(), " at byte ",
                            static_cast<int64_t>(result.offset)));
  const pugi::xml_node net = document.child("net");
  if (!net) return Bad("not an OpenVINO IR: there is no <net>");
  IrNet out;
  std::set<std::string> ids;
  for (const pugi::xml_node node : net.child("layers").children("layer")) {
    if (out.layers.size() == kMaxLayers)
      return Bad(absl::StrCat("must have at most ", kMaxLayers, " layers"));
    AXIS_ASSIGN_OR_RETURN(IrLayer layer, ReadLayer(node));
    if (!ids.insert(layer.id).second)
      return Bad(absl::StrCat("there are two layers of id ", layer.id));
    out.layers.push_back(std::move(layer));
  }
  for (const pugi::xml_node edge : net.child("edges").children("edge")) {
    const auto text = [&](const char* name) -> std::string {
      return edge.attribute(name).value();
    };
    const IrNet::PortId from{text("from-layer"), text("from-port")};
    const IrNet::PortId to{text("to-layer"), text("to-port")};
    if (!ids.contains(from.first) || !ids.contains(to.first))
      return Bad(absl::StrCat("the edge from ", from.first, " to ", to.first,
                              " has no layer at an end"));
    if (!out.sources.emplace(to, from).second)
      return Bad(absl::StrCat("two edges lead to port ", to.second,
                              " of layer ", to.first));
  }
  return out;
}

}  // namespace axis
