// A target of C has at least one source. What it declares is in the framework's header.
#include "COnnxRuntime.h"
