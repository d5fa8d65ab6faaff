// The Cholesky factor of a small Gram matrix that grows and shrinks by one row.
#pragma once

#include <cmath>

#include "memory.hpp"

namespace epitomes::EPITOMES_ISA {

// An atom whose squared distance to the span of the others is below this share of its square counts as inside it.
template <class T>
inline constexpr double kSmallest = sizeof(T) == 4 ? 1e-5 : 1e-11;

// Row k of the lower triangle is packed at k (k + 1) / 2; its diagonal holds the inverse.
class Cholesky {
   public:
    explicit Cholesky(std::size_t capacity) : factor_(capacity * (capacity + 1) / 2), matrix_(capacity * (capacity + 1) / 2) {}

    // Adds row n: products with the n rows before it, and its own square. False leaves the factor as it was.
    bool grow(std::size_t n, const double* products, double square, double smallest) {
        double* kept = matrix_.data() + n * (n + 1) / 2;
        for (std::size_t k = 0; k < n; k++) kept[k] = products[k];
        kept[n] = square;
        return factorise(n, smallest);
    }

    // Takes row `at` away; n rows remain.
    void shrink(std::size_t n, std::size_t at) {
        for (std::size_t k = at; k < n; k++) {
            double* to = matrix_.data() + k * (k + 1) / 2;
            const double* from = matrix_.data() + (k + 1) * (k + 2) / 2;
            for (std::size_t l = 0; l <= k; l++) to[l] = from[l < at ? l : l + 1];
        }
        for (std::size_t k = at; k < n; k++) factorise(k, 0);
    }

    // Entry n of the solution y of L y = b, given the entries before it.
    double forward(std::size_t n, double b, const double* y) const {
        const double* row = factor_.data() + n * (n + 1) / 2;
        for (std::size_t l = 0; l < n; l++) b -= row[l] * y[l];
        return b * row[n];
    }

    // Solves L' x = y for the first n rows.
    void backward(std::size_t n, const double* y, double* x) const {
        for (std::size_t k = 0; k < n; k++) x[k] = y[k];
        for (std::size_t k = n; k-- > 0;) {
            const double* row = factor_.data() + k * (k + 1) / 2;
            const double value = x[k] * row[k];
            x[k] = value;
            for (std::size_t l = 0; l < k; l++) x[l] -= row[l] * value;
        }
    }

    // Solves L L' x = b for the first n rows.
    void solve(std::size_t n, const double* b, double* x) const {
        for (std::size_t k = 0; k < n; k++) x[k] = forward(k, b[k], x);
        backward(n, x, x);
    }

   private:
    bool factorise(std::size_t n, double smallest) {
        const double* source = matrix_.data() + n * (n + 1) / 2;
        double* row = factor_.data() + n * (n + 1) / 2;
        double square = source[n];
        for (std::size_t k = 0; k < n; k++) {
            const double* other = factor_.data() + k * (k + 1) / 2;
            double value = source[k];
            for (std::size_t l = 0; l < k; l++) value -= other[l] * row[l];
            row[k] = value * other[k];
            square -= row[k] * row[k];
        }
        if (!(square > smallest * source[n])) {
            if (smallest > 0) return false;
            square = 1e-12 * source[n];  // a row that was independent before: only rounding brings it here
        }
        row[n] = 1 / std::sqrt(square);
        return true;
    }

    Buffer<double> factor_, matrix_;
};

}  // namespace epitomes::EPITOMES_ISA
