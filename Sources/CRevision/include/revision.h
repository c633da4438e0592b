#ifndef MEDIAVAULT_CREVISION_H
#define MEDIAVAULT_CREVISION_H

/// Returns the commit that the build was told of in MEDIAVAULT_COMMIT; an empty string if it was told of none.
const char *crevision_commit(void);

#endif
