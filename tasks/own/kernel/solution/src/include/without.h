/* Parts that are left out, one #define WITHOUT_... each: none. */
#pragma once
