// Groups of similar patches, each estimated by the Wiener filter of its own covariance and that of the noise (NL-Bayes).
// Everything is in double: products of pixels far above the noise would leave nothing of it in float.
#pragma once

#include "members.hpp"
#include "symmetric.hpp"

namespace epitomes::EPITOMES_ISA {

// With C the covariance of the members' guide patches, less that of the noise they hold, and N that of the noise, a patch y
// becomes mean + (y - mean) (I - Z), Z = (C + N)^-1 N. The noise is solved for, not the image: Z fades where noise does.
class GroupFilter : private GroupLoop<double> {
   public:
    GroupFilter(const Groups& groups, const Wiener& wiener)
        : GroupLoop(groups), w_(wiener), long_(round_up(groups.m, kLanes<double>)), noise_(groups.m, groups.m), guide_(groups.n_matches, groups.m),
          system_(groups.m), estimates_(groups.m, groups.n_matches), means_(long_), part_(estimates_.stride) {
        for (std::size_t a = 0; a < g_.m; a++) std::memcpy(noise_.row(a), wiener.noise + a * g_.m, g_.m * sizeof(double));
    }

    void run(Stop stop, float* total, float* weight) {
        each(stop, total, weight, [this](const std::int32_t* places, float level) { return estimate(places, level); });
    }

   private:
    Estimates estimate(const std::int32_t* places, float level) {
        const double variance = double(level) * double(level);
        if (w_.flat > 0 && flatten(w_.flat * variance)) return {estimates_, w_.even ? 1.0f : 0.5f};
        take_guide(places);
        set_up(variance);
        system_.solve(g_.m);
        centre(pixels_, g_.m, means_.data());
        double removed = 0;  // the trace of Z
        for (std::size_t k = 0; k < g_.m; k++) {
            const double* column = system_.right(0) + k;
            combine(column, system_.stride(), pixels_, {0, g_.m}, {0, wide_}, part_.data());
            const double *row = pixels_.row(k), mean = means_[k];
            double* out = estimates_.row(k);
            for (std::size_t j = 0; j < n_; j++) out[j] = mean + (row[j] - part_[j]);
            removed += column[k * system_.stride()];
        }
        return {estimates_, w_.even ? 1.0f : float(1 / (1 + (double(g_.m) - removed)))};
    }

    // Where all pixels of a group vary by no more than this, each becomes their mean.
    bool flatten(double most) {
        double sum = 0, squares = 0;
        for (std::size_t k = 0; k < g_.m; k++)
            for (std::size_t j = 0; j < n_; j++) sum += pixels_.row(k)[j];
        const double mean = sum / double(g_.m * n_);
        for (std::size_t k = 0; k < g_.m; k++)
            for (std::size_t j = 0; j < n_; j++) {
                const double d = pixels_.row(k)[j] - mean;
                squares += d * d;
            }
        if (squares > most * double(g_.m * n_)) return false;
        for (std::size_t k = 0; k < g_.m; k++)
            for (std::size_t j = 0; j < n_; j++) estimates_.row(k)[j] = mean;
        return true;
    }
    // The members' guide patches as rows, less their mean.
    void take_guide(const std::int32_t* places) {
        for (std::size_t j = 0; j < n_; j++) copy_patch(g_, g_.guide + places[j], guide_.row(j));
        const double share = 1 / double(n_);
        combine(&share, 0, guide_, {0, n_}, {0, long_}, means_.data());
        for (std::size_t j = 0; j < n_; j++) add_scaled(-1.0, means_.data(), guide_.row(j), long_);
    }
    // The system [C + N | N].
    void set_up(double variance) {
        const double share = 1 / double(n_), added = 1 - w_.in_guide;
        for (std::size_t a = 0; a < g_.m; a++) {
            double *left = system_.left(a), *right = system_.right(a);
            const std::size_t from = SymmetricSystem::vector_of(a);
            combine(guide_.row(0) + a, guide_.stride, guide_, {0, n_}, {from, long_}, left);
            const double* noise = noise_.row(a);
            for (std::size_t k = 0; k < long_; k++) right[k] = variance * noise[k];
            for (std::size_t k = from; k < long_; k++) left[k] = share * left[k] + added * right[k];
        }
    }

    Wiener w_;
    std::size_t long_;
    Matrix<double> noise_, guide_;
    SymmetricSystem system_;
    Matrix<double> estimates_;
    Buffer<double> means_, part_;
};

inline void filter_groups(const Groups& groups, const Wiener& wiener, Stop stop, float* total, float* weight) {
    GroupFilter(groups, wiener).run(stop, total, weight);
}

}  // namespace epitomes::EPITOMES_ISA
