// Numbers and texts as a picture in SVG has them.

#ifndef TWINMMU_TOOLS_VIEWS_DRAWING_DRAWING_WORDS_H_
#define TWINMMU_TOOLS_VIEWS_DRAWING_DRAWING_WORDS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace twinmmu {

// "12.3": a place in pixels.
std::string Pixels(double place);
// "2 MiB", "1.5 GiB".
std::string RoundedBytes(uint64_t bytes);
// "35 ms"
std::string RoundedTime(uint64_t ns);
// Escaped for text and attributes; characters that XML has not, and all that is not ASCII, are '?'.
std::string XmlText(std::string_view text);
// A rectangle as part of a path.
std::string BoxPath(double left, double top, double right, double bottom);
// A text element; `anchor` is start, middle or end.
std::string TextElement(double x, double y, std::string_view style, std::string_view anchor,
                        std::string_view text);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_DRAWING_DRAWING_WORDS_H_
