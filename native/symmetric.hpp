// Symmetric positive definite systems, solved by Cholesky's method, in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "matrix.hpp"

namespace epitomes::EPITOMES_ISA {

// The system [S | R] with a square R, which becomes S^-1 R. Of S the upper triangle is enough, from the beginning of the
// vector that holds the diagonal.
class SymmetricSystem {
   public:
    explicit SymmetricSystem(std::size_t most) : long_(round_up(most, kLanes<double>)), rows_(most, 2 * long_), scales_(most), part_(2 * long_) {}

    double* left(std::size_t i) { return rows_.row(i); }
    double* right(std::size_t i) { return rows_.row(i) + long_; }
    std::size_t stride() const { return rows_.stride; }  // from a row to the next

    void solve(std::size_t order) {
        wide_ = round_up(order, kLanes<double>);
        eliminate(order);
        substitute(order);
    }

    static std::size_t vector_of(std::size_t k) { return k / kLanes<double> * kLanes<double>; }

   private:
    // U'U = S, which also takes the right half from R to U'^-1 R.
    void eliminate(std::size_t order) {
        for (std::size_t i = 0; i < order; i++) {
            double* row = rows_.row(i);
            const double* column = rows_.row(0) + i;
            combine(column, rows_.stride, rows_, {0, i}, {vector_of(i), wide_}, part_.data());
            combine(column, rows_.stride, rows_, {0, i}, {long_, long_ + wide_}, part_.data());
            const double least = std::max(kSmallestPivot * row[i], std::numeric_limits<double>::min()), pivot = row[i] - part_[i];
            scales_[i] = 1 / std::sqrt(pivot > least ? pivot : least);
            finish(i, {vector_of(i), wide_});
            finish(i, {long_, long_ + wide_});
        }
    }
    // The right half, from U'^-1 R to U^-1 U'^-1 R.
    void substitute(std::size_t order) {
        for (std::size_t i = order; i-- > 0;) {
            combine(rows_.row(i), 1, rows_, {i + 1, order}, {long_, long_ + wide_}, part_.data());
            finish(i, {long_, long_ + wide_});
        }
    }
    void finish(std::size_t i, Range columns) {
        double *row = rows_.row(i), scale = scales_[i];
        for (std::size_t k = columns.begin; k < columns.end; k++) row[k] = (row[k] - part_[k]) * scale;
    }

    // Pivots below this share of the diagonal are rounding. Raised to it they count as large.
    static constexpr double kSmallestPivot = 1e-14;

    std::size_t long_, wide_ = 0;
    Matrix<double> rows_;
    Buffer<double> scales_, part_;
};

}  // namespace epitomes::EPITOMES_ISA
