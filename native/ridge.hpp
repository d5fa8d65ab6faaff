// Groups of similar patches, each member estimated as a linear combination of all of them (NL-Ridge).
// In double, as all that solves a system.
#pragma once

#include "members.hpp"
#include "symmetric.hpp"

namespace epitomes::EPITOMES_ISA {

// With the members as rows of Y, G the products of their guide patches less those of the noise they hold, and
// D = (1 + extra) m level^2 I, members become (I - Z) Y, Z = (G + D)^-1 D; with rows of I - Z that sum to one where the
// combinations are affine.
class GroupRidge : private GroupLoop<double> {
   public:
    GroupRidge(const Groups& groups, const Ridge& ridge)
        : GroupLoop(groups), r_(ridge), guide_(groups.m, groups.n_matches), system_(groups.n_matches), estimates_(groups.m, groups.n_matches),
          sums_(round_up(groups.n_matches, kLanes<double>)), part_(guide_.stride), weights_(groups.n_matches) {}

    void run(Stop stop, float* total, float* weight) {
        each(stop, total, weight, [this](const std::int32_t* places, float level) { return estimate(places, level); });
    }

   private:
    Estimates estimate(const std::int32_t* places, float level) {
        gather(g_.guide, places, guide_);
        const double noise = double(g_.m) * std::max(double(level) * double(level), std::numeric_limits<double>::min());
        set_up(noise);
        system_.solve(n_);
        if (r_.affine) make_affine();
        for (std::size_t k = 0; k < g_.m; k++) {
            combine(pixels_.row(k), 1, RowsView<double>{system_.right(0), system_.stride()}, {0, n_}, {0, wide_}, part_.data());
            const double* row = pixels_.row(k);
            double* out = estimates_.row(k);
            for (std::size_t j = 0; j < n_; j++) out[j] = row[j] - part_[j];
        }
        weigh();
        return {estimates_, 1.0f, nullptr, weights_.data()};
    }

    // The system [G + D | D].
    void set_up(double noise) {
        const double removed = (1 + r_.extra) * noise, added = removed - r_.in_guide * noise;
        for (std::size_t i = 0; i < n_; i++) {
            double *left = system_.left(i), *right = system_.right(i);
            combine(guide_.row(0) + i, guide_.stride, guide_, {0, g_.m}, {SymmetricSystem::vector_of(i), wide_}, left);
            left[i] += added;
            std::fill_n(right, wide_, 0.0);
            right[i] = removed;
        }
    }
    // Z less Z 1 1' Z / (1' Z 1), which is symmetric as Z is: its rows then sum to zero.
    void make_affine() {
        double all = 0;
        for (std::size_t i = 0; i < n_; i++) {
            const double* row = system_.right(i);
            double sum = 0;
            for (std::size_t j = 0; j < n_; j++) sum += row[j];
            sums_[i] = sum;
            all += sum;
        }
        for (std::size_t i = 0; i < n_; i++) add_scaled(-sums_[i] / all, sums_.data(), system_.right(i), wide_);
    }
    // A member weighs the inverse of the share of the noise that its combination keeps, which is between 1 / n and 1.
    void weigh() {
        for (std::size_t i = 0; i < n_; i++) {
            const double* row = system_.right(i);
            double squares = 0;
            for (std::size_t j = 0; j < n_; j++) {
                const double theta = (i == j ? 1.0 : 0.0) - row[j];
                squares += theta * theta;
            }
            weights_[i] = float(1 / std::clamp(squares, 1 / double(n_), 1.0));
        }
    }

    Ridge r_;
    Matrix<double> guide_;
    SymmetricSystem system_;
    Matrix<double> estimates_;
    Buffer<double> sums_, part_;
    Buffer<float> weights_;
};

inline void combine_groups(const Groups& groups, const Ridge& ridge, Stop stop, float* total, float* weight) {
    GroupRidge(groups, ridge).run(stop, total, weight);
}

}  // namespace epitomes::EPITOMES_ISA
