// Lasso by an active set: min 1/2 |x - a D|^2 + lam |a|_1 on unit atoms.
// Atoms that break the optimality condition |<d_j, x - a D>| <= lam enter in small lists; after each entry the code
// moves to the minimum on its support, dropping atoms whose sign would change. Correlations are in T, the small systems
// in double. The result is exact up to `tol`: every correlation ends below lam (1 + tol), or below what rounding can tell.
#pragma once

#include <cmath>
#include <limits>

#include "cholesky.hpp"
#include "gram.hpp"

namespace epitomes::EPITOMES_ISA {

// out = start - sum_k values[k] * rows[k] and the largest |out| (or largest out, when only positive values may enter).
template <bool Positive, int N, class T>
inline Vec<T> subtract_rows(const T* start, const T* const* rows, const T* values, std::size_t padded, T* out) {
    Vec<T> factor[N > 0 ? N : 1], most[2] = {};
    const T* row[N > 0 ? N : 1];
    for (int k = 0; k < N; k++) {
        factor[k] = splat(values[k]);
        row[k] = rows[k];
    }
    for (std::size_t i = 0; i < padded; i += 2 * kLanes<T>)
#pragma GCC unroll 2
        for (std::size_t h = 0; h < 2; h++) {
            const std::size_t at = i + h * kLanes<T>;
            Vec<T> x = load(start + at);
#pragma GCC unroll 8
            for (int k = 0; k < N; k++) x = fnma(factor[k], load(row[k] + at), x);
            store(out + at, x);
            most[h] = max(most[h], Positive ? x : absolute(x));
        }
    return max(most[0], most[1]);
}
template <bool Positive, class T>
T residual_correlations(const T* start, const T* const* rows, const T* values, std::size_t n, std::size_t padded, T* out) {
    Vec<T> most{};
    for (std::size_t k = 0;; k += 8, start = out) {
        switch (n - k) {
            case 0: most = subtract_rows<Positive, 0>(start, rows + k, values + k, padded, out); break;
            case 1: most = subtract_rows<Positive, 1>(start, rows + k, values + k, padded, out); break;
            case 2: most = subtract_rows<Positive, 2>(start, rows + k, values + k, padded, out); break;
            case 3: most = subtract_rows<Positive, 3>(start, rows + k, values + k, padded, out); break;
            case 4: most = subtract_rows<Positive, 4>(start, rows + k, values + k, padded, out); break;
            case 5: most = subtract_rows<Positive, 5>(start, rows + k, values + k, padded, out); break;
            case 6: most = subtract_rows<Positive, 6>(start, rows + k, values + k, padded, out); break;
            case 7: most = subtract_rows<Positive, 7>(start, rows + k, values + k, padded, out); break;
            default: most = subtract_rows<Positive, 8>(start, rows + k, values + k, padded, out);
        }
        if (n - k <= 8) return lane_max<T>(most);
    }
}

template <bool Positive, class T>
T largest(const T* c, std::size_t padded) {
    Vec<T> most[2] = {};
    for (std::size_t i = 0; i < padded; i += 2 * kLanes<T>)
        for (std::size_t h = 0; h < 2; h++) {
            const Vec<T> x = load(c + i + h * kLanes<T>);
            most[h] = max(most[h], Positive ? x : absolute(x));
        }
    return lane_max<T>(max(most[0], most[1]));
}

template <class T>
class LassoSolver {
   public:
    LassoSolver(const Atoms<T>& atoms, const Lasso& lasso, Stop stop)
        : stop_(stop), padded_(atoms.padded), capacity_(atoms.m < atoms.p ? atoms.m : atoms.p), lam_(lasso.lam), tol_(lasso.tol), positive_(lasso.positive), factor_(capacity_) {
        residual_ = Buffer<T>(padded_);
        slots = Buffer<std::int32_t>(capacity_);
        values = Buffer<T>(capacity_);
        rows_ = Buffer<const T*>(capacity_);
        code_ = Buffer<double>(capacity_);
        sign_ = Buffer<double>(capacity_);
        target_ = Buffer<double>(capacity_);
        column_ = Buffer<double>(capacity_);
        goal_ = Buffer<double>(capacity_);
        half_ = Buffer<double>(capacity_);
    }

    Buffer<std::int32_t> slots;  // the code of the last patch
    Buffer<T> values;

    // |<d, x>| <= |x| for unit atoms: a weak patch has an empty code.
    bool is_empty(T energy) const { return double(energy) <= lam_ * lam_; }

    // Codes one patch from its correlations, beginning with the n_warm atoms that `slots` and `values` hold already.
    template <class Gram>
    std::size_t solve(const T* start, T energy, std::size_t n_warm, Gram& gram) {
        // A correlation is a sum of products: rounding leaves it uncertain by some units of its largest possible value.
        const double uncertain = 8 * double(std::numeric_limits<T>::epsilon()) * std::sqrt(double(energy));
        slack_ = lam_ * tol_ > uncertain ? lam_ * tol_ : uncertain;
        return positive_ ? solve_by<true>(start, n_warm, gram) : solve_by<false>(start, n_warm, gram);
    }
    // False where nearly dependent atoms sent the active set in circles until it was stopped.
    bool is_optimal() const { return is_optimal_; }
    std::size_t capacity() const { return capacity_; }

   private:
    static constexpr std::size_t kList = 32;

    template <bool Positive, class Gram>
    std::size_t solve_by(const T* start, std::size_t n_warm, Gram& gram) {
        n_ = 0;
        for (std::size_t k = 0; k < n_warm; k++) {  // entries n_ <= k are read before they are overwritten
            const double value = double(values[k]);
            if (value > 0 || (!Positive && value < 0)) push(std::size_t(slots[k]), value, value > 0 ? 1 : -1, start, gram);
        }
        settle();
        is_optimal_ = false;
        for (n_moves_ = 0; n_moves_ <= most_moves() && !stop_.raised();) {
            for (std::size_t k = 0; k < n_; k++) values[k] = T(code_[k]);
            const T* rest = n_ > 0 ? residual_.data() : start;
            const double most = double(n_ > 0 ? residual_correlations<Positive>(start, rows_.data(), values.data(), n_, padded_, residual_.data())
                                              : largest<Positive>(start, padded_));
            is_optimal_ = most <= lam_ + slack_;
            if (is_optimal_) return n_;
            const double wanted = lam_ + 0.8 * (most - lam_);  // the worst violators only: one of them cures the others
            collect<Positive>(rest, T(wanted > lam_ + slack_ ? wanted : lam_ + slack_), most);
            if (!work_through<Positive>(rest, start, gram)) break;
        }
        for (std::size_t k = 0; k < n_; k++) values[k] = T(code_[k]);
        return n_;
    }
    std::size_t most_moves() const { return 8 * capacity_ + 64; }

    template <bool Positive>
    void collect(const T* rest, T threshold, double most) {
        const T just_below = T(most * (1 - 1e-6));
        const Vec<T> bar = splat(threshold < just_below ? threshold : just_below);
        n_list_ = 0;
        for (std::size_t i = 0; i < padded_; i += 2 * kLanes<T>) {
            const Vec<T> x = load(rest + i), y = load(rest + i + kLanes<T>);
            unsigned bits = above(Positive ? x : absolute(x), bar) | above(Positive ? y : absolute(y), bar) << kLanes<T>;
            for (; bits != 0 && n_list_ < kList; bits &= bits - 1)
                list_[n_list_++] = std::int32_t(i + std::size_t(__builtin_ctz(bits)));
        }
    }

    // Lets the listed atoms in, worst first, until none of them breaks optimality.
    template <bool Positive, class Gram>
    bool work_through(const T* rest, const T* start, Gram& gram) {
        bool moved = false;
        for (bool is_fresh = true;; is_fresh = false) {
            double worst = lam_ + 0.5 * slack_, side = 0;
            std::size_t at = kList;
            for (std::size_t q = 0; q < n_list_; q++) {
                if (list_[q] < 0) continue;
                const double c = is_fresh ? double(rest[list_[q]]) : correlation(std::size_t(list_[q]), start);
                if ((Positive ? c : std::fabs(c)) > worst && !is_active(list_[q])) {
                    worst = std::fabs(c);
                    side = c > 0 ? 1 : -1;
                    at = q;
                }
            }
            if (at == kList || n_moves_ > most_moves() || stop_.raised()) return moved;
            n_moves_++;
            const std::size_t slot = std::size_t(list_[at]);
            if (push(slot, 0, side, start, gram) || exchange(slot, side, start, gram)) {
                moved = true;
                settle();
                if (!is_active(list_[at])) list_[at] = -1;  // entered and left at once: rounding, not descent
            } else {
                list_[at] = -1;
            }
        }
    }

    double correlation(std::size_t slot, const T* start) const {
        double c = double(start[slot]);
        for (std::size_t k = 0; k < n_; k++) c -= code_[k] * double(rows_[k][slot]);
        return c;
    }

    bool is_active(std::int32_t slot) const {
        for (std::size_t k = 0; k < n_; k++)
            if (slots[k] == slot) return true;
        return false;
    }

    // Adds an atom unless it is in the span of the active ones.
    template <class Gram>
    bool push(std::size_t slot, double value, double sign, const T* start, Gram& gram) {
        if (n_ == capacity_) return false;
        const T* row = gram.row(slot);
        for (std::size_t k = 0; k < n_; k++) column_[k] = double(row[slots[k]]);
        if (!factor_.grow(n_, column_.data(), double(row[slot]), kSmallest<T>)) return false;
        slots[n_] = std::int32_t(slot);
        rows_[n_] = row;
        code_[n_] = value;
        sign_[n_] = sign;
        goal_[n_] = double(start[slot]) - lam_ * sign;
        half_[n_] = factor_.forward(n_, goal_[n_], half_.data());
        n_++;
        return true;
    }

    void drop(std::size_t at) {
        for (std::size_t k = at; k + 1 < n_; k++) {
            slots[k] = slots[k + 1];
            rows_[k] = rows_[k + 1];
            code_[k] = code_[k + 1];
            sign_[k] = sign_[k + 1];
            goal_[k] = goal_[k + 1];
        }
        n_--;
        factor_.shrink(n_, at);
        for (std::size_t k = at; k < n_; k++) half_[k] = factor_.forward(k, goal_[k], half_.data());
    }

    // The atom equals a mixture w of active ones. Moving weight from them to it leaves the fit as it is and lowers the
    // penalty; it goes on until one of them is used up and makes room.
    template <class Gram>
    bool exchange(std::size_t slot, double side, const T* start, Gram& gram) {
        const T* row = gram.row(slot);
        for (std::size_t k = 0; k < n_; k++) column_[k] = double(row[slots[k]]);
        factor_.solve(n_, column_.data(), target_.data());
        std::size_t first = n_;
        double shortest = 0;
        for (std::size_t k = 0; k < n_; k++) {
            const double pull = side * target_[k];
            if (pull * code_[k] <= 0 || std::fabs(pull) < 1e-9) continue;
            const double length = code_[k] / pull;
            if (first == n_ || length < shortest) {
                first = k;
                shortest = length;
            }
        }
        if (first == n_) return false;
        for (std::size_t k = 0; k < n_; k++) code_[k] -= shortest * side * target_[k];
        drop(first);
        push(slot, side * shortest, side, start, gram);
        return true;
    }

    // Moves to the minimum on the support: G a = c - lam sign (the goal), stopping where a value would change its sign.
    void settle() {
        while (n_ > 0) {
            factor_.backward(n_, half_.data(), target_.data());
            double reach = 1;
            std::size_t first = n_;
            for (std::size_t k = 0; k < n_; k++) {
                if (target_[k] * sign_[k] > 0) continue;
                const double gap = code_[k] - target_[k];
                const double share = gap != 0 ? code_[k] / gap : 0;
                if (first == n_ || share < reach) {
                    reach = share;
                    first = k;
                }
            }
            if (first == n_) {
                for (std::size_t k = 0; k < n_; k++) code_[k] = target_[k];
                return;
            }
            if (reach < 0) reach = 0;
            for (std::size_t k = 0; k < n_; k++) code_[k] += reach * (target_[k] - code_[k]);
            drop(first);
        }
    }

    Stop stop_;
    std::size_t padded_, capacity_, n_ = 0, n_list_ = 0, n_moves_ = 0;
    double lam_, tol_, slack_ = 0;
    bool positive_, is_optimal_ = false;
    Cholesky factor_;
    Buffer<T> residual_;
    Buffer<const T*> rows_;
    Buffer<double> code_, sign_, target_, column_, goal_, half_;
    std::int32_t list_[kList];
};

}  // namespace epitomes::EPITOMES_ISA
