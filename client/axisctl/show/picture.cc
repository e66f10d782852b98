#include "client/axisctl/show/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace axis {
namespace {

constexpr double kSaturation = 0.7, kLightness = 0.78;

// How much room things take, in characters or in pixels; right, then down.
struct Room {
  std::array<int64_t, 2> cell;
  std::array<int64_t, 2> gap;  // between cells; twice, thrice further out
};

struct Cell {
  int64_t x, y;
  int64_t number;
};

struct Grid {
  std::vector<Cell> cells;
  int64_t width = 0, height = 0;
};

Grid Lay(const Numbered& tensor, const Room& room) {
  const size_t rank = tensor.shape.size();
  std::vector<int64_t> steps(rank);
  std::array<int64_t, 2> sides = room.cell;
  for (size_t k = 0; k < rank; ++k) {
    const size_t way = k % 2;
    const int64_t gap = room.gap[way] * static_cast<int64_t>(k / 2);
    const int64_t extent = tensor.shape[rank - 1 - k];
    steps[k] = sides[way] + gap;
    sides[way] = extent * steps[k] - gap;
  }
  Grid grid;
  for (size_t i = 0; i < tensor.numbers.size(); ++i) {
    std::array<int64_t, 2> at = {0, 0};
    int64_t rest = static_cast<int64_t>(i);
    for (size_t k = 0; k < rank; ++k) {
      const int64_t extent = tensor.shape[rank - 1 - k];
      at[k % 2] += rest % extent * steps[k];
      rest /= extent;
    }
    grid.cells.push_back({at[0], at[1], tensor.numbers[i]});
    grid.width = std::max(grid.width, at[0] + room.cell[0]);
    grid.height = std::max(grid.height, at[1] + room.cell[1]);
  }
  return grid;
}

std::string Title(const Numbered& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.shape, ", "), "]");
}

// Degrees, from red to violet.
int64_t Hue(int64_t number, size_t count) {
  return 300 * number / std::max<int64_t>(static_cast<int64_t>(count) - 1, 1);
}

// What a terminal calls a colour: red, green, blue, each of 256.
std::string Rgb(int64_t hue) {
  const auto channel = [&](double n) {
    const double k = std::fmod(n + static_cast<double>(hue) / 30, 12);
    const double a = kSaturation * std::min(kLightness, 1 - kLightness);
    return static_cast<int>(
        255 * (kLightness - a * std::max(-1., std::min({k - 3, 9 - k, 1.}))));
  };
  return absl::StrFormat("%d;%d;%d", channel(0), channel(8), channel(4));
}

}  // namespace

std::string DrawText(absl::Span<const Numbered> tensors, bool colours) {
  const size_t count = tensors[0].numbers.size();
  const int64_t digits =
      static_cast<int64_t>(absl::StrCat(count - (count > 0)).size());
  std::string text;
  for (size_t t = 0; t < tensors.size(); ++t) {
    absl::StrAppend(&text, t == 1 ? "→\n" : "", Title(tensors[t]), "\n");
    Grid grid = Lay(tensors[t], {{digits + 1, 1}, {2, 1}});
    std::sort(grid.cells.begin(), grid.cells.end(),
              [](const Cell& a, const Cell& b) {
                return std::pair(a.y, a.x) < std::pair(b.y, b.x);
              });
    int64_t x = 0, y = 0;
    for (const Cell& cell : grid.cells) {
      for (; y < cell.y; ++y, x = 0) text += '\n';
      text.append(static_cast<size_t>(cell.x - x), ' ');
      const std::string number =
          absl::StrFormat("%*d ", static_cast<int>(digits), cell.number);
      if (colours) {
        absl::StrAppend(&text, "\033[30;48;2;", Rgb(Hue(cell.number, count)),
                        "m", number, "\033[0m");
      } else {
        text += number;
      }
      x = cell.x + digits + 1;
    }
    text += grid.cells.empty() ? "" : "\n";
  }
  return text;
}

std::string DrawSvg(absl::Span<const Numbered> tensors) {
  constexpr int64_t kCell = 26, kTop = 18, kSpace = 16;
  const size_t count = tensors[0].numbers.size();
  std::string body;
  int64_t left = 0, height = 0;
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (t == 1) {
      absl::StrAppend(&body, "<text x=\"", left, "\" y=\"", kTop + 17,
                      "\">→</text>\n");
      left += kSpace + 8;
    }
    const std::string title = Title(tensors[t]);
    absl::StrAppend(&body, "<text x=\"", left, "\" y=\"12\">", title,
                    "</text>\n");
    const Grid grid = Lay(tensors[t], {{kCell, kCell}, {8, 8}});
    for (const Cell& cell : grid.cells) {
      absl::StrAppendFormat(
          &body,
          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
          "fill=\"hsl(%d,%d%%,%d%%)\" stroke=\"#fff\"/>"
          "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%d</text>\n",
          left + cell.x, kTop + cell.y, kCell, kCell, Hue(cell.number, count),
          std::lround(100 * kSaturation), std::lround(100 * kLightness),
          left + cell.x + kCell / 2, kTop + cell.y + 17, cell.number);
    }
    // A letter of the title is some 7 pixels wide.
    left +=
        std::max(grid.width, static_cast<int64_t>(7 * title.size())) + kSpace;
    height = std::max(height, grid.height);
  }
  // Grey letters stay legible on a dark page.
  return absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
      "font-family=\"monospace\" font-size=\"12\" fill=\"#555\">\n%s</svg>\n",
      left - kSpace + 2, kTop + height + 2, body);
}

}  // namespace axis
