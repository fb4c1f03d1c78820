// ScriptText: text as a string of JSON within a page.

#ifndef TWINMMU_TOOLS_VIEWS_PAGE_SCRIPT_TEXT_H_
#define TWINMMU_TOOLS_VIEWS_PAGE_SCRIPT_TEXT_H_

#include <string>
#include <string_view>

namespace twinmmu {

// Between quotation marks. No text can end the script element that it is in or become markup: '<',
// '>' and '&' are escaped. What is not UTF-8 becomes U+FFFD.
std::string ScriptText(std::string_view text);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_PAGE_SCRIPT_TEXT_H_
