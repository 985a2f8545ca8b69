// Tests in C++ without a framework: a list of named functions, and checks that say what they compared.
#pragma once
#include <cmath>
#include <cstdio>
#include <vector>

struct Test {
    const char* name;
    void (*run)();
};
inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}
struct Registered {
    Registered(const char* name, void (*run)()) { tests().push_back({name, run}); }
};
inline int failures = 0;

inline void check(bool holds, const char* what, const char* file, int line) {
    if (holds) return;
    ++failures;
    std::printf("  %s:%d: %s\n", file, line, what);
}
inline void check_close(double found, double expected, double tolerance, const char* what, const char* file, int line) {
    if (std::abs(found - expected) <= tolerance * (1.0 + std::abs(expected))) return;
    ++failures;
    std::printf("  %s:%d: %s is %.17g, not %.17g\n", file, line, what, found, expected);
}

#define TEST(name)                                  \
    static void name();                             \
    static const Registered registered_##name(#name, name); \
    static void name()
#define CHECK(condition) check(condition, #condition, __FILE__, __LINE__)
#define CHECK_CLOSE(found, expected, tolerance) check_close(found, expected, tolerance, #found, __FILE__, __LINE__)

inline int run_all_tests() {
    for (const Test& test : tests()) {
        const int before = failures;
        test.run();
        std::printf("%-6s %s\n", failures == before ? "ok" : "FAILED", test.name);
    }
    std::printf("%zu tests, %d failed checks\n", tests().size(), failures);
    return failures > 0;
}
