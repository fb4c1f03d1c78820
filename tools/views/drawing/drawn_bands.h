// DrawnBands: the bands of a picture in SVG.

#ifndef TWINMMU_TOOLS_VIEWS_DRAWING_DRAWN_BANDS_H_
#define TWINMMU_TOOLS_VIEWS_DRAWING_DRAWN_BANDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/views/timeline/bands.h"
#include "tools/views/timeline/timeline.h"

namespace twinmmu {

// Where times stand, in pixels.
struct TimeScale {
  double left = 0;
  double width = 0;
  double duration = 1;

  double At(uint64_t time_ns) const;
  double right() const { return left + width; }
};

class DrawnBands {
 public:
  // `times` has the time of each event. The first band stands at `top`.
  DrawnBands(const Timeline& timeline, const std::vector<uint64_t>& times, TimeScale scale,
             double top);

  std::string Text() const;
  // Below the last band.
  double bottom() const { return bottom_; }
  // The height of an address of a process; negative: it stands in no band.
  double HeightOf(uint32_t process, uint64_t address) const;
  // Whose memory there is.
  const std::set<int32_t>& devices() const { return devices_; }
  bool has_aliases() const { return has_aliases_; }
  // Whether something was there at the end that nobody gave back.
  bool has_left() const { return has_left_; }

 private:
  struct Row {
    const Band* band = nullptr;
    double top = 0;
    double height = 0;
    std::vector<double> starts;  // The share of the height that is below each stretch.
    std::string reservations;
    std::string skipped;
    size_t skips = 0;                      // Boxes in it.
    std::map<int32_t, std::string> spans;  // Paths, by device.
    std::string aliases;
    std::string left;                             // Where something was there at the end.
    std::set<std::pair<int64_t, int64_t>> drawn;  // Pixels that small spans were drawn into.
  };

  void Place(double top);
  void Draw(uint32_t index, Row& row);
  double HeightIn(const Row& row, uint64_t address) const;
  std::string TextOf(const Row& row) const;
  double EndOf(const Span& span) const;

  const Timeline& timeline_;
  const std::vector<uint64_t>& times_;
  const TimeScale scale_;
  const Bands bands_;
  std::vector<Row> rows_;
  size_t left_out_ = 0;
  double bottom_ = 0;
  std::set<int32_t> devices_;
  bool has_aliases_ = false;
  bool has_left_ = false;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_DRAWING_DRAWN_BANDS_H_
