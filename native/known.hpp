// Correlations of patches with unknown pixels: sums run over the known ones alone.
#pragma once

#include "correlate.hpp"

namespace epitomes::EPITOMES_ISA {

constexpr int kTilesAtOnce = kBytes == 64 ? 3 : 4;     // what half of the nearest cache holds, and enough sums to hide their latency
constexpr int kTilesWithNorms = kBytes == 64 ? 3 : 2;  // with as many norms in registers beside them

// A row, of which only the pixels at these places are known.
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
        const std::size_t place = std::size_t(row.places[i]);
        const Vec<T> x = splat(row.values[place]);
        const T* at = tile + place * 2 * lanes;
#pragma GCC unroll 8
        for (int v = 0; v < 2 * G; v++) {
            const Vec<T> d = pinned(load(at + std::size_t(v / 2) * m * 2 * lanes + std::size_t(v % 2) * lanes));
            sums[v] = fma(x, d, sums[v]);
            if (Norms) norms[v] = fma(d, d, norms[v]);
        }
    }
    take(sums, norms);
}

// Squared norms of the atoms of G tiles where few pixels are unknown: a unit atom has 1, less what is unknown of it.
template <int G, class T, class Take>
inline void norms_of_most(const T* tile, std::size_t m, const std::int32_t* unknown, std::size_t n_unknown, Take take) {
    constexpr std::size_t lanes = kLanes<T>;
    Vec<T> norms[2 * G];
    for (int v = 0; v < 2 * G; v++) norms[v] = splat(T(1));
    for (std::size_t i = 0; i < n_unknown; i++) {
        const T* at = tile + std::size_t(unknown[i]) * 2 * lanes;
#pragma GCC unroll 8
        for (int v = 0; v < 2 * G; v++) {
            const Vec<T> d = pinned(load(at + std::size_t(v / 2) * m * 2 * lanes + std::size_t(v % 2) * lanes));
            norms[v] = fnma(d, d, norms[v]);
        }
    }
    take(norms);
}

// A row of the Gram matrix of whole atoms, from which products at unknown pixels and with earlier directions are taken.
template <class T>
struct GramRow {
    const T *row, *atom;
    const std::int32_t* unknown;
    std::size_t n_unknown;
    const T *directions, *across;  // the products of earlier directions with all atoms, and with this one
    std::size_t stride, n;
};

// Products of the atoms of G tiles, the first of which begins at `slot`, with what is new in an atom. Cheaper than sums
// over pixels where few are unknown.
template <int G, class T, class Take>
inline void take_from_gram(const T* tile, std::size_t m, const GramRow<T>& gram, std::size_t slot, Take take) {
    constexpr std::size_t lanes = kLanes<T>;
    Vec<T> sums[2 * G];
#pragma GCC unroll 8
    for (int v = 0; v < 2 * G; v++) sums[v] = load(gram.row + slot + std::size_t(v) * lanes);
    for (std::size_t i = 0; i < gram.n_unknown; i++) {
        const Vec<T> x = splat(gram.atom[gram.unknown[i]]);
        const T* at = tile + std::size_t(gram.unknown[i]) * 2 * lanes;
#pragma GCC unroll 8
        for (int v = 0; v < 2 * G; v++) sums[v] = fnma(x, load(at + std::size_t(v / 2) * m * 2 * lanes + std::size_t(v % 2) * lanes), sums[v]);
    }
    for (std::size_t k = 0; k < gram.n; k++) {
        const Vec<T> x = splat(gram.across[k]);
        const T* at = gram.directions + k * gram.stride + slot;
#pragma GCC unroll 8
        for (int v = 0; v < 2 * G; v++) sums[v] = fnma(x, load(at + std::size_t(v) * lanes), sums[v]);
    }
    take(sums);
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
