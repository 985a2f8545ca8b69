// The exponential of kernels that fall with a distance.
#pragma once
#include <cstdint>
#include <cstring>

#include "clones.hpp"

namespace rm {

// exp(-t) for t >= 0 without a branch, so that it vectorises: 2^-k exp(r) with |r| <= ln(2) / 2 and a Taylor polynomial,
// to one or two units in the last place.
RM_INLINE double exp_minus(double t) {
    constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer, kept in the low bits
    t = t < 708.0 ? t : 708.0;                     // 3e-308: there is nothing below to tell apart
    const double shifted = -t * 1.4426950408889634 + kShift;
    const double k = shifted - kShift;
    const double r = (-t - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    std::uint64_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;  // the rounded integer becomes the exponent
    double power;
    std::memcpy(&power, &bits, sizeof power);
    return p * power;
}

RM_INLINE float exp_minus(float t) {
    constexpr float kShift = 12582912.0f;  // 1.5 * 2^23
    t = t < 87.0f ? t : 87.0f;
    const float shifted = -t * 1.44269504f + kShift;
    const float k = shifted - kShift;
    const float r = (-t - k * 0.693145752f) - k * 1.42860677e-06f;
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    std::uint32_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127) << 23;
    float power;
    std::memcpy(&power, &bits, sizeof power);
    return p * power;
}

}  // namespace rm
