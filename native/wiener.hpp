// Groups of similar patches, each estimated by the Wiener filter of its own covariance and that of the noise (NL-Bayes).
// Everything is in double: products of pixels far above the noise would leave nothing of it in float.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "members.hpp"

namespace epitomes::EPITOMES_ISA {

// With C the covariance of the members' guide patches and N that of the noise, a patch y becomes
// mean + (y - mean) (I - Z), Z = (C + N)^-1 N. The noise is solved for, not the image: Z fades where noise does.
class GroupFilter : private GroupLoop<double> {
   public:
    GroupFilter(const Groups& groups, const Wiener& wiener)
        : GroupLoop(groups), long_(round_up(groups.m, kLanes<double>)), noise_(groups.m, groups.m), guide_(groups.n_matches, groups.m),
          system_(groups.m, 2 * long_), estimates_(groups.m, groups.n_matches), means_(long_), scales_(groups.m),
          part_(std::max(system_.stride, estimates_.stride)) {
        for (std::size_t a = 0; a < g_.m; a++) std::memcpy(noise_.row(a), wiener.noise + a * g_.m, g_.m * sizeof(double));
    }

    void run(Stop stop, float* total, float* weight) {
        each(stop, total, weight, [this](const std::int32_t* places, float level) { return estimate(places, level); });
    }

   private:
    Estimates estimate(const std::int32_t* places, float level) {
        take_guide(places);
        set_up(double(level) * double(level));
        eliminate();
        substitute();
        centre(pixels_, g_.m, means_.data());
        double removed = 0;  // the trace of Z
        for (std::size_t k = 0; k < g_.m; k++) {
            const double* column = system_.row(0) + long_ + k;
            combine(column, system_.stride, pixels_, {0, g_.m}, {0, wide_}, part_.data());
            const double *row = pixels_.row(k), mean = means_[k];
            double* out = estimates_.row(k);
            for (std::size_t j = 0; j < n_; j++) out[j] = mean + (row[j] - part_[j]);
            removed += column[k * system_.stride];
        }
        return {estimates_, float(1 / (1 + (double(g_.m) - removed)))};
    }

    // The members' guide patches as rows, less their mean.
    void take_guide(const std::int32_t* places) {
        for (std::size_t j = 0; j < n_; j++) copy_patch(g_, g_.guide + places[j], guide_.row(j));
        const double share = 1 / double(n_);
        combine(&share, 0, guide_, {0, n_}, {0, long_}, means_.data());
        for (std::size_t j = 0; j < n_; j++) add_scaled(-1.0, means_.data(), guide_.row(j), long_);
    }
    // The system [C + N | N], of whose left half the upper triangle is enough.
    void set_up(double variance) {
        const double share = 1 / double(n_);
        for (std::size_t a = 0; a < g_.m; a++) {
            double *left = system_.row(a), *right = left + long_;
            const std::size_t from = vector_of(a);
            combine(guide_.row(0) + a, guide_.stride, guide_, {0, n_}, {from, long_}, left);
            const double* noise = noise_.row(a);
            for (std::size_t k = 0; k < long_; k++) right[k] = variance * noise[k];
            for (std::size_t k = from; k < long_; k++) left[k] = share * left[k] + right[k];
        }
    }
    // Cholesky, U'U = C + N, which also takes the right half from N to U'^-1 N.
    void eliminate() {
        for (std::size_t i = 0; i < g_.m; i++) {
            double* row = system_.row(i);
            combine(system_.row(0) + i, system_.stride, system_, {0, i}, {vector_of(i), 2 * long_}, part_.data());
            const double least = std::max(kSmallestPivot * row[i], std::numeric_limits<double>::min()), pivot = row[i] - part_[i];
            scales_[i] = 1 / std::sqrt(pivot > least ? pivot : least);
            finish(i, vector_of(i));
        }
    }
    // The right half, from U'^-1 N to U^-1 U'^-1 N.
    void substitute() {
        for (std::size_t i = g_.m; i-- > 0;) {
            combine(system_.row(i), 1, system_, {i + 1, g_.m}, {long_, 2 * long_}, part_.data());
            finish(i, long_);
        }
    }
    void finish(std::size_t i, std::size_t from) {
        double *row = system_.row(i), scale = scales_[i];
        for (std::size_t k = from; k < 2 * long_; k++) row[k] = (row[k] - part_[k]) * scale;
    }
    static std::size_t vector_of(std::size_t k) { return k / kLanes<double> * kLanes<double>; }

    // Pivots below this share of the diagonal are rounding. Raised to it they count as image, and the noise there is kept.
    static constexpr double kSmallestPivot = 1e-14;

    std::size_t long_;
    Matrix<double> noise_, guide_, system_, estimates_;
    Buffer<double> means_, scales_, part_;
};

inline void filter_groups(const Groups& groups, const Wiener& wiener, Stop stop, float* total, float* weight) {
    GroupFilter(groups, wiener).run(stop, total, weight);
}

}  // namespace epitomes::EPITOMES_ISA
