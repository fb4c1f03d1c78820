// The page as it is for every run: made from the files in source/.

#ifndef TWINMMU_TOOLS_VIEWS_PAGE_PAGE_TEXTS_H_
#define TWINMMU_TOOLS_VIEWS_PAGE_PAGE_TEXTS_H_

namespace twinmmu {

extern const char* const kPageBeforeData;
extern const char* const kPageAfterData;

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_PAGE_PAGE_TEXTS_H_
