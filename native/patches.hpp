// Patches in and out of images of any dimension: a patch is a start and a table of offsets.
#pragma once

#include <algorithm>
#include <vector>

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

// Pixels of a patch that are neighbours in the image, too: `length` of them from `offset` on. A line of a patch is a run.
struct Run {
    std::int64_t offset;
    std::size_t length;
};
inline std::vector<Run> runs_of(const std::int64_t* offsets, std::size_t m) {
    std::vector<Run> runs;
    for (std::size_t k = 0; k < m; k++)
        if (k > 0 && offsets[k] == offsets[k - 1] + 1)
            runs.back().length++;
        else
            runs.push_back({offsets[k], 1});
    return runs;
}

template <class T>
void gather(const T* image, const std::int64_t* starts, std::size_t n, const std::int64_t* offsets, std::size_t m,
            bool centre, T* rows, T* means) {
    const std::vector<Run> runs = runs_of(offsets, m);
    for (std::size_t i = 0; i < n; i++) {
        T* row = rows + i * m;
        for (const Run& run : runs) {
            const T* from = image + starts[i] + run.offset;
            for (std::size_t k = 0; k < run.length; k++) row[k] = from[k];
            row += run.length;
        }
        means[i] = centre ? centre_row(rows + i * m, m) : T(0);
    }
}

// Adds one run of adjacent patches, each `Step` pixels after the last. Pixel by pixel, with sums in registers: patches
// that are added one after another load what the last one has just stored, and wait for it. Every pixel still gets its
// estimates in the order of the patches. With Length > 0, the length is known to the compiler.
template <std::size_t Step, std::size_t Length, class T>
inline void add_run(double* total, double* weight, std::size_t n, std::size_t length, const T* rows, std::size_t m,
                    const double* weights) {
    const std::size_t l = Length > 0 ? Length : length;
    const std::ptrdiff_t next = std::ptrdiff_t(m) - std::ptrdiff_t(Step);  // the same pixel in the next patch
    const auto add = [&](std::size_t x, std::size_t first, std::size_t last) {
        double sum = total[x], mass = weight[x];
        const T* row = rows + (std::ptrdiff_t(first) * next + std::ptrdiff_t(x));
        for (std::size_t i = first; i <= last; i++, row += next) {
            sum += weights[i] * double(*row);
            mass += weights[i];
        }
        total[x] = sum;
        weight[x] = mass;
    };
    const std::size_t pixels = (n - 1) * Step + l;
    std::size_t x = 0;
    for (; x + 1 < l; x++) add(x, 0, std::min(x / Step, n - 1));
    for (; x < n * Step; x++) add(x, (x + Step - l) / Step, x / Step);
    for (; x < pixels; x++) add(x, (x + Step - l) / Step, n - 1);
}

template <class T>
using AddRun = void (*)(double*, double*, std::size_t, std::size_t, const T*, std::size_t, const double*);

constexpr std::size_t kAdjacent = 64;  // patches that are added together: their rows stay in the first cache

// How many patches, `step` pixels apart, may be added together: as long as their runs have no pixel in common.
inline std::size_t adjacent(const std::vector<Run>& runs, std::int64_t step) {
    std::int64_t most = kAdjacent;
    for (std::size_t r = 0; r + 1 < runs.size(); r++)
        most = std::min(most, (runs[r + 1].offset - runs[r].offset - std::int64_t(runs[r].length)) / step + 1);
    return std::size_t(std::max<std::int64_t>(most, 1));
}

template <class T>
void scatter(double* total, double* weight, const std::int64_t* starts, std::size_t n, const std::int64_t* offsets,
             std::size_t m, const T* rows, const T* weights) {
    const std::vector<Run> runs = runs_of(offsets, m);
    double trust[kAdjacent];
    for (std::size_t i = 0, count = 1; i < n; i += count) {
        // Steps of 1 are those of grey images, of 3 those of colours.
        const std::int64_t step = i + 1 < n && starts[i + 1] == starts[i] + 3 ? 3 : 1;
        const std::size_t most = std::min(n - i, adjacent(runs, step));
        for (count = 1; count < most && starts[i + count] == starts[i] + std::int64_t(count) * step;) count++;
        for (std::size_t k = 0; k < count; k++) trust[k] = weights == nullptr ? 1.0 : double(weights[i + k]);
        const T* row = rows + i * m;
        for (const Run& run : runs) {
            const std::int64_t at = starts[i] + run.offset;
            const AddRun<T> add = step == 3 ? add_run<3, 0, T> : run.length == 8 ? add_run<1, 8, T> : add_run<1, 0, T>;
            add(total + at, weight + at, count, run.length, row, m, trust);
            row += run.length;
        }
    }
}

}  // namespace epitomes::EPITOMES_ISA
