#ifndef MEDIAVAULT_CREVISION_H
#define MEDIAVAULT_CREVISION_H

/// Returns the commit that MEDIAVAULT_COMMIT named at build time; an empty string if it named none.
const char *crevision_commit(void);

#endif
