// Correlations of patches with unknown pixels: sums run over the known ones alone.
#pragma once

#include "correlate.hpp"

namespace epitomes::EPITOMES_ISA {

constexpr int kTilesAtOnce = kBytes == 64 ? 3 : 4;     // what half of the nearest cache holds, and enough sums to hide their latency
constexpr int kTilesWithNorms = kBytes == 64 ? 3 : 2;  // with as many norms in registers beside them

// A row at its known pixels: their values and their places in the patch.
template <class T>
struct KnownPixels {
    const T* values;
    const std::int32_t* places;
    std::size_t n;
};

// Sums over known pixels for the atoms of G tiles: `take` is given the products of their vectors with the row,
// and, if asked for, squared norms on these pixels.
template <int G, bool Norms, class T, class Take>
inline void sum_known(const T* tile, std::size_t m, const KnownPixels<T>& row, Take take) {
    constexpr std::size_t lanes = kLanes<T>;
    Vec<T> sums[2 * G], norms[2 * G];
    for (int v = 0; v < 2 * G; v++) sums[v] = norms[v] = Vec<T>{};
    for (std::size_t i = 0; i < row.n; i++) {
        const Vec<T> x = splat(row.values[i]);
        const T* at = tile + std::size_t(row.places[i]) * 2 * lanes;
#pragma GCC unroll 8
        for (int v = 0; v < 2 * G; v++) {
            const Vec<T> d = load(at + std::size_t(v / 2) * m * 2 * lanes + std::size_t(v % 2) * lanes);
            sums[v] = fma(x, d, sums[v]);
            if (Norms) norms[v] = fma(d, d, norms[v]);
        }
    }
    take(sums, norms);
}

// Unit atoms in a weighted sum, by their rows of the Gram matrix.
template <class T>
struct GramSum {
    const T* rows;
    std::size_t padded;
    const std::int32_t* slots;
    const T* weights;
    std::size_t n;
};

// The same sums without norms, for a row that is a sum of atoms at the known pixels: those over all pixels, out of the
// Gram matrix, less those over the `rest`, whose values come negated. Cheaper where few pixels are unknown.
template <int G, class T, class Take>
inline void sum_by_gram(const T* tile, std::size_t m, const GramSum<T>& sum, const KnownPixels<T>& rest, std::size_t slot, Take take) {
    constexpr std::size_t lanes = kLanes<T>;
    Vec<T> sums[2 * G];
    for (int v = 0; v < 2 * G; v++) sums[v] = Vec<T>{};
    for (std::size_t k = 0; k < sum.n; k++) {
        const Vec<T> weight = splat(sum.weights[k]);
        const T* at = sum.rows + std::size_t(sum.slots[k]) * sum.padded + slot;
#pragma GCC unroll 8
        for (int v = 0; v < 2 * G; v++) sums[v] = fma(weight, load(at + std::size_t(v) * lanes), sums[v]);
    }
    for (std::size_t i = 0; i < rest.n; i++) {
        const Vec<T> x = splat(rest.values[i]);
        const T* at = tile + std::size_t(rest.places[i]) * 2 * lanes;
#pragma GCC unroll 8
        for (int v = 0; v < 2 * G; v++) sums[v] = fma(x, load(at + std::size_t(v / 2) * m * 2 * lanes + std::size_t(v % 2) * lanes), sums[v]);
    }
    take(sums, nullptr);
}

// The same sums where few pixels are unknown: the norm of a unit atom is 1 less what it has there.
template <int G, class T, class Take>
inline void sum_known_of_most(const T* tile, std::size_t m, const KnownPixels<T>& row, const std::int32_t* unknown, Take take) {
    constexpr std::size_t lanes = kLanes<T>;
    Vec<T> norms[2 * G];
    for (int v = 0; v < 2 * G; v++) norms[v] = splat(T(1));
    for (std::size_t i = 0; i < m - row.n; i++) {
        const T* at = tile + std::size_t(unknown[i]) * 2 * lanes;
#pragma GCC unroll 8
        for (int v = 0; v < 2 * G; v++) {
            const Vec<T> d = load(at + std::size_t(v / 2) * m * 2 * lanes + std::size_t(v % 2) * lanes);
            norms[v] = fnma(d, d, norms[v]);
        }
    }
    sum_known<G, false>(tile, m, row, [&](const Vec<T>* sums, const Vec<T>*) { take(sums, norms); });
}

// out (padded) = the products of all atoms with a row, at its known pixels.
template <class T>
void correlate_known(const Atoms<T>& atoms, const KnownPixels<T>& row, T* out) {
    constexpr std::size_t lanes = kLanes<T>;
    const std::size_t n_tiles = atoms.padded / (2 * lanes);
    std::size_t t = 0;
    const auto put = [&](std::size_t n_vectors) {
        return [=](const Vec<T>* sums, const Vec<T>*) {
            for (std::size_t v = 0; v < n_vectors; v++) store(out + (2 * t + v) * lanes, sums[v]);
        };
    };
    for (; t + kTilesAtOnce <= n_tiles; t += kTilesAtOnce)
        sum_known<kTilesAtOnce, false>(atoms.packed.data() + 2 * t * lanes * atoms.m, atoms.m, row, put(2 * kTilesAtOnce));
    for (; t < n_tiles; t++) sum_known<1, false>(atoms.packed.data() + 2 * t * lanes * atoms.m, atoms.m, row, put(2));
}

}  // namespace epitomes::EPITOMES_ISA
