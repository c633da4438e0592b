#include "revision.h"

const char *crevision_commit(void) { return MEDIAVAULT_COMMIT; }
