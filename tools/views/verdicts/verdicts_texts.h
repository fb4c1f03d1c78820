// The page of verdicts without its data: made from the files in source/.

#ifndef TWINMMU_TOOLS_VIEWS_VERDICTS_VERDICTS_TEXTS_H_
#define TWINMMU_TOOLS_VIEWS_VERDICTS_VERDICTS_TEXTS_H_

namespace twinmmu {

extern const char* const kVerdictsBeforeData;
extern const char* const kVerdictsAfterData;

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_VERDICTS_VERDICTS_TEXTS_H_
