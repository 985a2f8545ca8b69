#pragma once

// One clone per instruction set, chosen when the library is loaded (GNU/Linux on x86-64 only). The levels, not
// the names of processors: those match their own make only.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_ADDRESS__)  // whose own start comes after the choice
#define RM_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define RM_CLONES_256 __attribute__((target_clones("arch=x86-64-v3", "default")))  // for short inner loops
#else
#define RM_CLONES
#define RM_CLONES_256
#endif

// Into every clone, for its instruction set.
#if defined(__GNUC__)
#define RM_INLINE inline __attribute__((always_inline))
#else
#define RM_INLINE inline
#endif
