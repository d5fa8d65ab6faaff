// Eigenvalues and eigenvectors of one small symmetric matrix: Householder reduction to a tridiagonal one, then QL with
// implicit shifts, or where only a few large ones are wanted, bisection and inverse iteration. All inner loops run along
// rows, and eigenvectors are rows.
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
          product_(pad_), squares_(pad_ + 1), factors_(4 * pad_), exchanged_(pad_) {}

    std::size_t stride() const { return pad_; }
    const T* values() const { return diagonal_.data(); }

    // Takes the symmetric matrix (n, n) with rows `stride()` apart; destroys it. Returns how many of `values()` to look at:
    // those above `cut`, and perhaps others, in no special order. Where few are above, which is the rule in groups of
    // similar patches, it takes less than half the time.
    std::size_t run(T* matrix, std::size_t n, T cut) {
        n_ = n;
        wide_ = round_up(n, kLanes<T>);
        if (n == 0) return 0;
        const T unit = normalise(matrix);
        reduce(matrix);
        for (std::size_t i = 0; i < n; i++) squares_[i] = beside_[i] * beside_[i];
        const std::size_t count = n_above(cut / unit);
        if (kFew * count > n) {
            for (std::size_t i = 0; i < n; i++) {
                std::memset(vectors_.data() + i * pad_, 0, wide_ * sizeof(T));
                vectors_[i * pad_ + i] = 1;
            }
            iterate();
            for (std::size_t i = 0; i < n; i++) diagonal_[i] *= unit;
            return n;
        }
        locate(count, cut / unit);
        find_vectors(count);
        for (std::size_t i = 0; i < count; i++) diagonal_[i] = product_[i] * unit;
        return count;
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
            const std::size_t from = (k + 1) / kLanes<T> * kLanes<T>;
            combine(u, 1, RowsView<T>{a, pad_}, {k + 1, n_}, {from, wide_}, product_.data());
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

    // How many eigenvalues of the tridiagonal matrix are above each x: as many as it has positive pivots, less x. Two vectors
    // are under way at once, because every pivot waits for the division before it.
    void n_above(const Vec<T>* x, Ints<T>* counts) const {
        const Vec<T> none{}, small = splat(kSmall);
        Vec<T> pivots[2];
        for (int v = 0; v < 2; v++) {
            counts[v] = Ints<T>{};
            pivots[v] = splat(diagonal_[0]) - x[v];
        }
        for (std::size_t i = 0;; i++) {
            for (int v = 0; v < 2; v++) {
                pivots[v] = absolute(pivots[v]) < small ? -small : pivots[v];
                counts[v] -= pivots[v] > none;
            }
            if (i + 1 == n_) return;
            for (int v = 0; v < 2; v++) pivots[v] = splat(diagonal_[i + 1]) - x[v] - splat(squares_[i]) / pivots[v];
        }
    }
    std::size_t n_above(T x) const {
        const Vec<T> both[2] = {splat(x), splat(x)};
        Ints<T> counts[2];
        n_above(both, counts);
        return std::size_t(counts[0][0]);
    }

    // The largest eigenvalues, as entries of `product_`. Each lies in an interval of its own, which as many points divide as
    // there are lanes for it; how many eigenvalues are above a point says on which side of it this one is.
    void locate(std::size_t count, T cut) {
        constexpr std::size_t lanes = 2 * kLanes<T>;
        T top = cut;
        for (std::size_t i = 0; i < n_; i++)
            top = std::max(top, diagonal_[i] + std::abs(beside_[i]) + (i > 0 ? std::abs(beside_[i - 1]) : T(0)));
        T points[lanes], low[lanes];
        typename Simd<T>::Int above[lanes];
        for (std::size_t first = 0; first < count; first += kLanes<T>) {
            const std::size_t n = std::min(count - first, kLanes<T>), each = lanes / n;
            std::fill_n(low, n, cut);
            T width = top - cut;
            for (T left = kNarrow; left < 1; left *= T(each + 1)) {
                width /= T(each + 1);
                for (std::size_t k = 0; k < lanes; k++) points[k] = k < n * each ? low[k / each] + T(k % each + 1) * width : top;
                Vec<T> x[2] = {load(points), load(points + kLanes<T>)};
                Ints<T> counts[2];
                n_above(x, counts);
                std::memcpy(above, counts, sizeof above);
                for (std::size_t i = 0; i < n; i++) {
                    std::size_t below = 0;
                    while (below < each && above[i * each + below] >= typename Simd<T>::Int(first + i + 1)) below++;
                    low[i] += T(below) * width;
                }
            }
            for (std::size_t i = 0; i < n; i++) product_[first + i] = low[i] + width / 2;
        }
    }

    // Inverse iteration, each from a start of its own, so that equal eigenvalues get different vectors.
    void find_vectors(std::size_t count) {
        std::uint32_t state = 1;
        for (std::size_t i = 0; i < count; i++) {
            T* v = vectors_.data() + i * pad_;
            for (std::size_t k = 0; k < n_; k++) {
                state = 1664525u * state + 1013904223u;
                v[k] = T(std::int32_t(state >> 8)) / T(1 << 23) - T(0.5);
            }
            for (std::size_t k = n_; k < wide_; k++) v[k] = 0;
            factorise(product_[i]);
            for (int step = 0; step < kSolves; step++) {
                solve(v);
                for (std::size_t j = 0; j < i; j++) add_scaled(-dot(vectors_.data() + j * pad_, v, wide_), vectors_.data() + j * pad_, v, wide_);
                const Vec<T> by = splat(1 / std::sqrt(dot(v, v, wide_)));
                for (std::size_t k = 0; k < wide_; k += kLanes<T>) store(v + k, load(v + k) * by);
            }
        }
    }

    // The tridiagonal matrix less `value`, by Gaussian elimination with exchanges of neighbouring rows: the inverse of the
    // pivots, the two entries beside them, and the multipliers.
    void factorise(T value) {
        T *inverse = factors_.data(), *next = inverse + pad_, *second = next + pad_, *by = second + pad_;
        T pivot = diagonal_[0] - value, beside = beside_[0];
        for (std::size_t i = 0; i + 1 < n_; i++) {
            const T below = beside_[i], other = diagonal_[i + 1] - value, far = beside_[i + 1];
            exchanged_[i] = std::abs(below) > std::abs(pivot);
            if (exchanged_[i]) {
                inverse[i] = 1 / below;
                next[i] = other;
                second[i] = far;
                by[i] = pivot * inverse[i];
                pivot = beside - by[i] * other;
                beside = -by[i] * far;
            } else {
                inverse[i] = 1 / (std::abs(pivot) < kSmall ? kSmall : pivot);
                next[i] = beside;
                second[i] = 0;
                by[i] = below * inverse[i];
                pivot = other - by[i] * beside;
                beside = far;
            }
        }
        inverse[n_ - 1] = 1 / (std::abs(pivot) < kSmall ? kSmall : pivot);
    }
    void solve(T* x) const {
        const T *inverse = factors_.data(), *next = inverse + pad_, *second = next + pad_, *by = second + pad_;
        for (std::size_t i = 0; i + 1 < n_; i++) {
            if (exchanged_[i]) std::swap(x[i], x[i + 1]);
            x[i + 1] -= by[i] * x[i];
        }
        T one = 0, two = 0;
        for (std::size_t i = n_; i-- > 0;) {
            const T last = i + 1 < n_ ? x[i] - next[i] * one - second[i] * two : x[i];
            two = one;
            one = x[i] = last * inverse[i];
        }
    }

    static constexpr std::size_t kFew = 2;  // one of so many values, or fewer: from there on QL is as quick
    static constexpr int kSolves = 3;
    static constexpr T kNarrow = sizeof(T) == 4 ? T(2e-7) : T(2e-16);  // of the interval in which an eigenvalue is looked for
    static constexpr T kSmall = sizeof(T) == 4 ? T(1e-7) : T(1e-16);  // beside entries of about one: their rounding
    static constexpr T kNothing = sizeof(T) == 4 ? T(1e-12) : T(1e-24);  // beside entries of about one: far below their rounding

    std::size_t pad_, n_ = 0, wide_ = 0;
    Buffer<T> reflectors_, vectors_, diagonal_, beside_, scale_, product_, squares_, factors_;
    Buffer<unsigned char> exchanged_;
};

inline std::size_t decompose(const float* matrix, std::size_t n, float cut, float* values, float* vectors) {
    Eigen<float> eigen(n);
    Buffer<float> work(n * eigen.stride());
    for (std::size_t i = 0; i < n; i++) std::memcpy(work.data() + i * eigen.stride(), matrix + i * n, n * sizeof(float));
    const std::size_t found = eigen.run(work.data(), n, cut);
    Buffer<std::int32_t> order(found);
    std::size_t count = 0;
    for (std::size_t i = 0; i < found; i++)
        if (eigen.values()[i] > cut) order[count++] = std::int32_t(i);
    std::stable_sort(order.data(), order.data() + count,
                     [&](std::int32_t a, std::int32_t b) { return eigen.values()[a] < eigen.values()[b]; });
    for (std::size_t i = 0; i < count; i++) {
        values[i] = eigen.values()[order[i]];
        std::memcpy(vectors + i * n, eigen.vector(std::size_t(order[i])), n * sizeof(float));
    }
    return count;
}

}  // namespace epitomes::EPITOMES_ISA
