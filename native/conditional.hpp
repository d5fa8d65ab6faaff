// Groups of similar patches with unknown pixels: each member is the conditional mean of a Gaussian, given what is known of
// it. Everything is in double: the covariance of similar patches is nearly singular.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "members.hpp"

namespace epitomes::EPITOMES_ISA {

// With mu and C the mean and the covariance of the members' guide patches, `level`^2 added to the diagonal of C, o the
// pixels of a member that are known and v their variances, the member becomes mu + C_:o (C_oo + diag v)^-1 (y_o - mu_o).
class GroupCompleter : private GroupLoop<double> {
   public:
    GroupCompleter(const Groups& groups, const Conditional& conditional)
        : GroupLoop(groups), variances_(conditional.variances), most_(conditional.most), long_(round_up(groups.m, kLanes<double>)), guide_(groups.n_matches, groups.m),
          covariance_(groups.m, groups.m), system_(groups.m, long_ + kLanes<double>), estimates_(groups.m, groups.n_matches), means_(long_),
          part_(long_ + kLanes<double>), scales_(groups.m), factors_(groups.m), member_(long_), known_(groups.m) {}

    void run(Stop stop, float* total, float* weight) {
        each(stop, total, weight, [this](const std::int32_t* places, float level) { return estimate(places, level); });
    }

   private:
    Estimates estimate(const std::int32_t* places, float level) {
        take_guide(places);
        set_covariance(double(level) * double(level));
        n_ = std::min(n_, most_);  // the others have said how members vary, and get estimates from groups of their own
        for (std::size_t j = 0; j < n_; j++) {
            find_known(places[j]);
            set_up(j, places[j]);
            eliminate();
            substitute();
            combine(factors_.data(), 1, covariance_, {0, g_.m}, {0, long_}, member_.data());
            for (std::size_t k = 0; k < g_.m; k++) estimates_.row(k)[j] = means_[k] + member_[k];
        }
        return {estimates_, 1.0f};
    }

    // The members' guide patches as rows, less their mean.
    void take_guide(const std::int32_t* places) {
        for (std::size_t j = 0; j < n_; j++) copy_patch(g_, g_.guide + places[j], guide_.row(j));
        const double share = 1 / double(n_);
        combine(&share, 0, guide_, {0, n_}, {0, long_}, means_.data());
        for (std::size_t j = 0; j < n_; j++) add_scaled(-1.0, means_.data(), guide_.row(j), long_);
    }
    void set_covariance(double added) {
        const double share = 1 / double(n_);
        for (std::size_t a = 0; a < g_.m; a++) {
            double* row = covariance_.row(a);
            combine(guide_.row(0) + a, guide_.stride, guide_, {0, n_}, {vector_of(a), long_}, row);
            for (std::size_t k = vector_of(a); k < long_; k++) row[k] *= share;
            row[a] += added;
            for (std::size_t k = 0; k < a; k++) row[k] = covariance_.row(k)[a];
        }
    }
    void find_known(std::int32_t place) {
        n_known_ = 0;
        for (std::size_t k = 0; k < g_.m; k++)
            if (std::isfinite(variances_[place + g_.offsets[k]])) known_[n_known_++] = k;
        wide_known_ = round_up(n_known_, kLanes<double>);
    }
    // The system [C_oo + diag v | y_o - mu_o], of whose left part the upper triangle is enough.
    void set_up(std::size_t j, std::int32_t place) {
        for (std::size_t i = 0; i < n_known_; i++) {
            const std::size_t at = known_[i];
            const double* from = covariance_.row(at);
            double* row = system_.row(i);
            for (std::size_t k = i; k < n_known_; k++) row[k] = from[known_[k]];
            for (std::size_t k = n_known_; k < wide_known_ + kLanes<double>; k++) row[k] = 0;
            row[i] += double(variances_[place + g_.offsets[at]]);
            row[wide_known_] = pixels_.row(at)[j] - means_[at];
        }
    }
    // Cholesky, U'U = C_oo + diag v, which also takes the right-hand side b to U'^-1 b.
    void eliminate() {
        const std::size_t end = wide_known_ + kLanes<double>;
        for (std::size_t i = 0; i < n_known_; i++) {
            double* row = system_.row(i);
            combine(system_.row(0) + i, system_.stride, system_, {0, i}, {vector_of(i), end}, part_.data());
            const double least = std::max(kSmallestPivot * row[i], std::numeric_limits<double>::min()), pivot = row[i] - part_[i];
            const double scale = scales_[i] = 1 / std::sqrt(pivot > least ? pivot : least);
            for (std::size_t k = vector_of(i); k < i; k++) row[k] = part_[k] = 0;
            for (std::size_t k = vector_of(i); k < end; k++) row[k] = (row[k] - part_[k]) * scale;
        }
    }
    // What the rows of the covariance are to be multiplied by: U^-1 of the right-hand side at known pixels, zero elsewhere.
    void substitute() {
        std::fill_n(factors_.data(), g_.m, 0.0);
        double* solved = part_.data();
        std::fill_n(solved, wide_known_, 0.0);
        for (std::size_t i = n_known_; i-- > 0;) {
            const double* row = system_.row(i);
            const std::size_t from = vector_of(i);
            solved[i] = (row[wide_known_] - dot(row + from, solved + from, wide_known_ - from)) * scales_[i];
            factors_[known_[i]] = solved[i];
        }
    }
    static std::size_t vector_of(std::size_t k) { return k / kLanes<double> * kLanes<double>; }

    static constexpr double kSmallestPivot = 1e-14;  // share of the diagonal: what is below it is rounding

    const float* variances_;
    std::size_t most_, long_, n_known_ = 0, wide_known_ = 0;
    Matrix<double> guide_, covariance_, system_, estimates_;
    Buffer<double> means_, part_, scales_, factors_, member_;
    Buffer<std::size_t> known_;
};

inline void complete_groups(const Groups& groups, const Conditional& conditional, Stop stop, float* total, float* weight) {
    GroupCompleter(groups, conditional).run(stop, total, weight);
}

}  // namespace epitomes::EPITOMES_ISA
