/* A text that grows. */
#pragma once
#include "base.h"

struct text { char *at; size_t used, room; };
void text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
