// Eigenvalues and eigenvectors of one small symmetric matrix: Householder reduction to a tridiagonal one, then QL with
// implicit shifts. All inner loops run along rows, and eigenvectors are rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "matrix.hpp"

namespace epitomes::EPITOMES_ISA {

template <class T>
class Eigen {
   public:
    explicit Eigen(std::size_t most)
        : pad_(round_up(most, kLanes<T>)), reflectors_(pad_ * pad_), vectors_(pad_ * pad_), diagonal_(pad_), beside_(pad_ + 1), scale_(pad_),
          product_(pad_) {}

    std::size_t stride() const { return pad_; }
    const T* values() const { return diagonal_.data(); }

    // Takes the symmetric matrix (n, n) with rows `stride()` apart; destroys it. Values come in no special order.
    void run(T* matrix, std::size_t n) {
        n_ = n;
        wide_ = round_up(n, kLanes<T>);
        if (n == 0) return;
        const T unit = normalise(matrix);
        reduce(matrix);
        for (std::size_t i = 0; i < n; i++) {
            std::memset(vectors_.data() + i * pad_, 0, wide_ * sizeof(T));
            vectors_[i * pad_ + i] = 1;
        }
        iterate();
        for (std::size_t i = 0; i < n; i++) diagonal_[i] *= unit;
    }

    // The unit eigenvector of values()[i], of the matrix that was given; padded with zeros.
    const T* vector(std::size_t i) {
        T* v = vectors_.data() + i * pad_;
        for (std::size_t k = n_ < 2 ? 0 : n_ - 2; k-- > 0;) {
            const T* u = reflectors_.data() + k * pad_;
            add_scaled(-scale_[k] * dot(u, v, wide_), u, v, wide_);
        }
        return v;
    }

   private:
    // Squares of entries must stay in range: the largest becomes about one, by a power of two, which is returned.
    T normalise(T* a) const {
        constexpr int most = std::numeric_limits<T>::max_exponent - 2;
        Vec<T> sizes{};
        for (std::size_t i = 0; i < n_; i++)
            for (std::size_t j = 0; j < wide_; j += kLanes<T>) sizes = max(sizes, absolute(load(a + i * pad_ + j)));
        const T largest = lane_max<T>(sizes);
        if (!(largest > 0) || !std::isfinite(largest)) return 1;
        int power;
        std::frexp(largest, &power);
        power = std::clamp(power, -most, most);
        const Vec<T> by = splat(std::ldexp(T(1), -power));
        for (std::size_t i = 0; i < n_; i++)
            for (std::size_t j = 0; j < wide_; j += kLanes<T>) store(a + i * pad_ + j, load(a + i * pad_ + j) * by);
        return std::ldexp(T(1), power);
    }

    // H = I - scale u u' for each column, applied from both sides, leaves a tridiagonal matrix.
    void reduce(T* a) {
        for (std::size_t k = 0; k + 2 < n_; k++) {
            T* u = reflectors_.data() + k * pad_;
            std::memset(u, 0, wide_ * sizeof(T));
            for (std::size_t i = k + 1; i < n_; i++) u[i] = a[k * pad_ + i];
            diagonal_[k] = a[k * pad_ + k];
            const T first = u[k + 1], norm = std::sqrt(dot(u, u, wide_));
            if (!(norm > kNothing)) {
                scale_[k] = beside_[k] = 0;
                continue;
            }
            const T alpha = first > 0 ? -norm : norm;
            u[k + 1] = first - alpha;
            beside_[k] = alpha;
            scale_[k] = 1 / (norm * norm - first * alpha);
            std::memset(product_.data(), 0, wide_ * sizeof(T));
            const std::size_t from = (k + 1) / kLanes<T> * kLanes<T>;
            for (std::size_t i = k + 1; i < n_; i++) add_scaled(u[i], a + i * pad_ + from, product_.data() + from, wide_ - from);
            for (std::size_t i = 0; i <= k; i++) product_[i] = 0;
            T* w = product_.data();
            const T half = scale_[k] * (scale_[k] * dot(u, w, wide_)) / 2;
            for (std::size_t i = from; i < wide_; i += kLanes<T>) store(w + i, fnma(splat(half), load(u + i), splat(scale_[k]) * load(w + i)));
            for (std::size_t i = k + 1; i < n_; i++) {
                const Vec<T> ui = splat(u[i]), wi = splat(w[i]);
                T* row = a + i * pad_;
                for (std::size_t j = from; j < wide_; j += kLanes<T>)
                    store(row + j, fnma(ui, load(w + j), fnma(wi, load(u + j), load(row + j))));
            }
        }
        if (n_ > 1) {
            diagonal_[n_ - 2] = a[(n_ - 2) * pad_ + n_ - 2];
            beside_[n_ - 2] = a[(n_ - 2) * pad_ + n_ - 1];
        }
        diagonal_[n_ - 1] = a[(n_ - 1) * pad_ + n_ - 1];
        beside_[n_ - 1] = 0;
    }

    void iterate() {
        constexpr T tiny = sizeof(T) == 4 ? T(1.2e-7) : T(2.3e-16);
        T* d = diagonal_.data();
        T* e = beside_.data();
        for (std::size_t l = 0; l < n_; l++)
            for (int sweep = 0; sweep < 60; sweep++) {
                std::size_t m = l;
                while (m + 1 < n_ && std::abs(e[m]) > tiny * (std::abs(d[m]) + std::abs(d[m + 1]))) m++;
                if (m == l) break;
                T g = (d[l + 1] - d[l]) / (2 * e[l]), r = std::sqrt(g * g + 1);
                g = d[m] - d[l] + e[l] / (g + (g < 0 ? -r : r));
                T s = 1, c = 1, p = 0;
                bool split = false;  // the matrix fell apart on the way down
                for (std::size_t i = m; i-- > l;) {
                    const T f = s * e[i], b = c * e[i];
                    r = std::sqrt(f * f + g * g);
                    e[i + 1] = r;
                    if (r == 0) {
                        d[i + 1] -= p;
                        e[m] = 0;
                        split = true;
                        break;
                    }
                    s = f / r;
                    c = g / r;
                    g = d[i + 1] - p;
                    r = (d[i] - g) * s + 2 * c * b;
                    p = s * r;
                    d[i + 1] = g + p;
                    g = c * r - b;
                    turn(vectors_.data() + i * pad_, vectors_.data() + (i + 1) * pad_, c, s);
                }
                if (split) continue;
                d[l] -= p;
                e[l] = g;
                e[m] = 0;
            }
    }
    void turn(T* low, T* high, T c, T s) const {
        const Vec<T> cc = splat(c), ss = splat(s);
        for (std::size_t k = 0; k < wide_; k += kLanes<T>) {
            const Vec<T> a = load(low + k), b = load(high + k);
            store(high + k, fma(ss, a, cc * b));
            store(low + k, fnma(ss, b, cc * a));
        }
    }

    static constexpr T kNothing = sizeof(T) == 4 ? T(1e-12) : T(1e-24);  // beside entries of about one: far below their rounding

    std::size_t pad_, n_ = 0, wide_ = 0;
    Buffer<T> reflectors_, vectors_, diagonal_, beside_, scale_, product_;
};

inline void decompose(const float* matrix, std::size_t n, float* values, float* vectors) {
    Eigen<float> eigen(n);
    Buffer<float> work(n * eigen.stride());
    for (std::size_t i = 0; i < n; i++) std::memcpy(work.data() + i * eigen.stride(), matrix + i * n, n * sizeof(float));
    eigen.run(work.data(), n);
    Buffer<std::int32_t> order(n);
    for (std::size_t i = 0; i < n; i++) order[i] = std::int32_t(i);
    std::stable_sort(order.data(), order.data() + n,
                     [&](std::int32_t a, std::int32_t b) { return eigen.values()[a] < eigen.values()[b]; });
    for (std::size_t i = 0; i < n; i++) {
        values[i] = eigen.values()[order[i]];
        std::memcpy(vectors + i * n, eigen.vector(std::size_t(order[i])), n * sizeof(float));
    }
}

}  // namespace epitomes::EPITOMES_ISA
