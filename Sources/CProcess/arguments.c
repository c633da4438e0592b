#include "shim.h"

#include <stddef.h>

extern char **environ;

static char *none[] = {NULL};
static char **arguments = none;

// The C library runs this before `main`, with what `main` gets.
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
    if (count > 0) arguments = values;
}

char **cprocess_arguments(void) { return arguments; }

char **cprocess_variables(void) { return environ ? environ : none; }
