#define __BEGIN_DECLS
#define __END_DECLS
