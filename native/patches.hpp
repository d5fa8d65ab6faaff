// Patches in and out of images of any dimension: a patch is a start and a table of offsets.
#pragma once

#include "engine.hpp"
#include "memory.hpp"

namespace epitomes::EPITOMES_ISA {

// Sum of a row, and its energy, in an order that depends on m alone.
template <class T>
inline T row_sum(const T* row, std::size_t m) {
    Vec<T> sums{};
    std::size_t k = 0;
    for (; k + kLanes<T> <= m; k += kLanes<T>) sums += load(row + k);
    T total = lane_sum<T>(sums);
    for (; k < m; k++) total += row[k];
    return total;
}
template <class T>
inline T row_energy(const T* row, std::size_t m) {
    Vec<T> sums{};
    std::size_t k = 0;
    for (; k + kLanes<T> <= m; k += kLanes<T>) {
        const Vec<T> x = load(row + k);
        sums = fma(x, x, sums);
    }
    T total = lane_sum<T>(sums);
    for (; k < m; k++) total += row[k] * row[k];
    return total;
}
// Takes the mean off a row and returns it.
template <class T>
inline T centre_row(T* row, std::size_t m) {
    const T mean = row_sum(row, m) / T(m);
    for (std::size_t k = 0; k < m; k++) row[k] -= mean;
    return mean;
}

template <class T>
void gather(const T* image, const std::int64_t* starts, std::size_t n, const std::int64_t* offsets, std::size_t m,
            bool centre, T* rows, T* means) {
    for (std::size_t i = 0; i < n; i++) {
        const T* patch = image + starts[i];
        T* row = rows + i * m;
        for (std::size_t k = 0; k < m; k++) row[k] = patch[offsets[k]];
        means[i] = centre ? centre_row(row, m) : T(0);
    }
}

template <class T>
void scatter(double* total, double* weight, const std::int64_t* starts, std::size_t n, const std::int64_t* offsets,
             std::size_t m, const T* rows, const T* weights) {
    for (std::size_t i = 0; i < n; i++) {
        const double w = weights == nullptr ? 1.0 : double(weights[i]);
        for (std::size_t k = 0; k < m; k++) {
            const std::int64_t at = starts[i] + offsets[k];
            total[at] += w * double(rows[i * m + k]);
            weight[at] += w;
        }
    }
}

}  // namespace epitomes::EPITOMES_ISA
