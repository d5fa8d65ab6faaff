// One vector type per instruction set, over compiler vector extensions. Everything is in a namespace named after the
// set, so that no inlined function of one set can be linked into another. Multiply-add is always written out
// (`fma`, `fnma`): contraction is off, so a sum has the same bits wherever the compiler meets it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace epitomes::EPITOMES_ISA {

#if defined(__AVX512F__)
constexpr std::size_t kBytes = 64;
constexpr std::size_t kRowsAtOnce = 12;  // rows of the GEMM micro-kernel: registers / 2 less a few
#elif defined(__AVX2__)
constexpr std::size_t kBytes = 32;
constexpr std::size_t kRowsAtOnce = 6;
#elif defined(__ARM_NEON)
constexpr std::size_t kBytes = 16;
constexpr std::size_t kRowsAtOnce = 12;
#else
constexpr std::size_t kBytes = 16;
constexpr std::size_t kRowsAtOnce = 6;
#endif

template <class T>
struct Simd;
template <>
struct Simd<float> {
    typedef float Vec __attribute__((vector_size(kBytes)));
    typedef std::int32_t Ints __attribute__((vector_size(kBytes)));
    typedef std::int32_t Int;
};
template <>
struct Simd<double> {
    typedef double Vec __attribute__((vector_size(kBytes)));
    typedef std::int64_t Ints __attribute__((vector_size(kBytes)));
    typedef std::int64_t Int;
};

template <class T>
using Vec = typename Simd<T>::Vec;
template <class T>
using Ints = typename Simd<T>::Ints;
template <class T>
constexpr std::size_t kLanes = kBytes / sizeof(T);

template <class T>
inline Vec<T> load(const T* at) {
    Vec<T> v;
    std::memcpy(&v, at, kBytes);
    return v;
}
template <class T>
inline void store(T* at, Vec<T> v) {
    std::memcpy(at, &v, kBytes);
}
template <class T>
inline Vec<T> splat(T x) {
    return x - Vec<T>{};
}

// Keeps a loaded vector in a register: left alone, compilers load it again for each use, and loads are the bottleneck.
template <class V>
inline V pinned(V v) {
#if defined(__x86_64__)
    asm("" : "+x"(v));
#elif defined(__aarch64__)
    asm("" : "+w"(v));
#endif
    return v;
}

// a * b + c and c - a * b, rounded once where the set has the instruction.
#if defined(__AVX512F__)
inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return Vec<float>(_mm512_fmadd_ps(a, b, c)); }
inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return Vec<double>(_mm512_fmadd_pd(a, b, c)); }
inline Vec<float> fnma(Vec<float> a, Vec<float> b, Vec<float> c) { return Vec<float>(_mm512_fnmadd_ps(a, b, c)); }
inline Vec<double> fnma(Vec<double> a, Vec<double> b, Vec<double> c) { return Vec<double>(_mm512_fnmadd_pd(a, b, c)); }
inline Vec<float> max(Vec<float> a, Vec<float> b) { return Vec<float>(_mm512_max_ps(a, b)); }
inline Vec<double> max(Vec<double> a, Vec<double> b) { return Vec<double>(_mm512_max_pd(a, b)); }
inline unsigned above(Vec<float> a, Vec<float> b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
inline unsigned above(Vec<double> a, Vec<double> b) { return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ); }
#elif defined(__AVX2__)
inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return _mm256_fmadd_pd(a, b, c); }
inline Vec<float> fnma(Vec<float> a, Vec<float> b, Vec<float> c) { return _mm256_fnmadd_ps(a, b, c); }
inline Vec<double> fnma(Vec<double> a, Vec<double> b, Vec<double> c) { return _mm256_fnmadd_pd(a, b, c); }
inline Vec<float> max(Vec<float> a, Vec<float> b) { return _mm256_max_ps(a, b); }
inline Vec<double> max(Vec<double> a, Vec<double> b) { return _mm256_max_pd(a, b); }
inline unsigned above(Vec<float> a, Vec<float> b) { return unsigned(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ))); }
inline unsigned above(Vec<double> a, Vec<double> b) { return unsigned(_mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_GT_OQ))); }
#elif defined(__SSE2__)
inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return a * b + c; }
inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return a * b + c; }
inline Vec<float> fnma(Vec<float> a, Vec<float> b, Vec<float> c) { return c - a * b; }
inline Vec<double> fnma(Vec<double> a, Vec<double> b, Vec<double> c) { return c - a * b; }
inline Vec<float> max(Vec<float> a, Vec<float> b) { return _mm_max_ps(a, b); }
inline Vec<double> max(Vec<double> a, Vec<double> b) { return _mm_max_pd(a, b); }
inline unsigned above(Vec<float> a, Vec<float> b) { return unsigned(_mm_movemask_ps(_mm_cmpgt_ps(a, b))); }
inline unsigned above(Vec<double> a, Vec<double> b) { return unsigned(_mm_movemask_pd(_mm_cmpgt_pd(a, b))); }
#elif defined(__ARM_NEON)
inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return Vec<float>(vfmaq_f32(c, a, b)); }
inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return Vec<double>(vfmaq_f64(c, a, b)); }
inline Vec<float> fnma(Vec<float> a, Vec<float> b, Vec<float> c) { return Vec<float>(vfmsq_f32(c, a, b)); }
inline Vec<double> fnma(Vec<double> a, Vec<double> b, Vec<double> c) { return Vec<double>(vfmsq_f64(c, a, b)); }
inline Vec<float> max(Vec<float> a, Vec<float> b) { return Vec<float>(vmaxq_f32(a, b)); }
inline Vec<double> max(Vec<double> a, Vec<double> b) { return Vec<double>(vmaxq_f64(a, b)); }
template <class V>
inline unsigned lanes_above(V a, V b) {
    const auto larger = a > b;
    unsigned bits = 0;
    for (std::size_t i = 0; i < sizeof(V) / sizeof(a[0]); i++) bits |= unsigned(larger[i] != 0) << i;
    return bits;
}
inline unsigned above(Vec<float> a, Vec<float> b) { return lanes_above(a, b); }
inline unsigned above(Vec<double> a, Vec<double> b) { return lanes_above(a, b); }
#endif

// The same for one value, with the same bits.
inline float one_fma(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_NEON)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

template <class V>
inline V absolute(V v) {
    return max(v, -v);
}

// A vector as its lower and its upper half, which are vectors: lanes are summed by halves, so the order does not depend on
// the caller.
template <class T, std::size_t N>
struct Halves {
    typedef T Whole __attribute__((vector_size(N * sizeof(T))));
    typedef T Half __attribute__((vector_size(N / 2 * sizeof(T))));

    explicit Halves(Whole v) {
        std::memcpy(&low, &v, sizeof low);
        std::memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof low, sizeof high);
    }
    Half low, high;
};
template <class T, std::size_t N, class V>
inline T sum_of(V v) {
    if constexpr (N == 2) {
        return v[0] + v[1];
    } else {
        const Halves<T, N> both(v);
        return sum_of<T, N / 2>(both.low + both.high);
    }
}
template <class T, std::size_t N, class V>
inline T max_of(V v) {
    if constexpr (N == 2) {
        return v[0] > v[1] ? v[0] : v[1];
    } else {
        const Halves<T, N> both(v);
        return max_of<T, N / 2>(both.low > both.high ? both.low : both.high);
    }
}
template <class T>
inline T lane_sum(Vec<T> v) {
    return sum_of<T, kLanes<T>>(v);
}
template <class T>
inline T lane_max(Vec<T> v) {
    return max_of<T, kLanes<T>>(v);
}

constexpr std::size_t round_up(std::size_t n, std::size_t step) { return (n + step - 1) / step * step; }

}  // namespace epitomes::EPITOMES_ISA
