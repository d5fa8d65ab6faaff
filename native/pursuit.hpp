// Greedy codes on the Gram matrix: orthogonal matching pursuit and orthogonal least squares.
// Chosen atoms are orthonormalised one after another. With u_k the k-th orthonormal direction, row k of `directions`
// holds <d_j, u_k> for every atom j, so one pass per atom updates all correlations and finds the next atom.
#pragma once

#include <cmath>

#include "gram.hpp"

namespace epitomes::EPITOMES_ISA {

// The best atom so far. Whole vectors are held against its score, and lanes are looked at only where one may beat it.
// Scores are fractions, compared by multiplying: a division per atom would cost more than all the rest of the pass.
// The search may begin with a score that some atom is known to beat: it saves steps and changes no winner. Ties go to the
// lowest slot.
template <class T>
struct Best {
    T score;
    std::int64_t slot = -1, second = -1;  // -1 while nothing beats the score

    void offer(T other, std::size_t at) {
        if (!(other > score)) return;
        score = other;
        second = slot;
        slot = std::int64_t(at);
    }
};

template <class T>
inline constexpr T kDependent = sizeof(T) == 4 ? T(1e-6) : T(1e-12);  // squared norm left to an atom in the span

template <class T>
class PursuitSolver {
   public:
    PursuitSolver(const Atoms<T>& atoms, const Pursuit& pursuit)
        : padded_(atoms.padded), n_most_(pursuit.n_nonzero), residual_(T(pursuit.residual)), least_squares_(pursuit.least_squares), directions_(pursuit.n_nonzero, atoms.padded) {
        left_ = Buffer<T>(padded_);
        triangle_ = Buffer<T>(n_most_ * (n_most_ + 1) / 2);
        weights_ = Buffer<T>(n_most_);
        slots = Buffer<std::int32_t>(n_most_);
        values = Buffer<T>(n_most_);
    }

    Buffer<std::int32_t> slots;  // the code of the last patch
    Buffer<T> values;

    // A patch within the bound needs no atom, hence no correlations.
    bool is_empty(T energy) const { return energy <= residual_; }

    // Codes one patch from its correlations, which it uses up: one array less to move through the caches.
    template <class Gram>
    std::size_t solve(T* correlations, T energy, Gram& gram) {
        return least_squares_ ? solve_by<true>(correlations, energy, gram) : solve_by<false>(correlations, energy, gram);
    }

   private:
    template <bool LeastSquares, class Gram>
    std::size_t solve_by(T* correlations, T energy, Gram& gram) {
        std::int64_t slot = first_best(correlations);
        std::size_t n = 0;
        while (slot >= 0 && n < n_most_ && energy > residual_) {
            const T* row = gram.row(std::size_t(slot));
            T* across = triangle_.data() + n * (n + 1) / 2;
            T pivot = row[slot];
            for (std::size_t k = 0; k < n; k++) {
                across[k] = directions_.row(k)[slot];
                pivot -= across[k] * across[k];
            }
            if (!(pivot > kDependent<T>)) break;
            const T inverse = T(1) / std::sqrt(pivot);
            const T weight = correlations[slot] * inverse;
            across[n] = inverse;
            weights_[n] = weight;
            slots[n] = std::int32_t(slot);
            energy -= weight * weight;
            n++;
            if (n == n_most_ || energy <= residual_) break;
            slot = next_best<LeastSquares>(row, across, n - 1, inverse, weight, correlations);
        }
        back_substitute(n);
        return n;
    }

    std::int64_t first_best(const T* c) {
        Best<T> best{T(0)};
        Vec<T> bar{};
        for (std::size_t i = 0; i < padded_; i += 2 * kLanes<T>) {
            unsigned bits = above(absolute(load(c + i)), bar) | above(absolute(load(c + i + kLanes<T>)), bar) << kLanes<T>;
            if (bits == 0) continue;
            for (; bits != 0; bits &= bits - 1) {
                const std::size_t slot = i + std::size_t(__builtin_ctz(bits));
                best.offer(std::fabs(c[slot]), slot);
            }
            bar = splat(best.score);
        }
        second_ = best.second;
        return best.slot;
    }

    template <bool LeastSquares>
    std::int64_t next_best(const T* row, const T* across, std::size_t n, T inverse, T weight, T* correlations) {
        constexpr std::size_t kChunk = Shelf<T>::kChunk;
        const T hint = foreseen<LeastSquares>(row, across, n, inverse, weight, correlations);
        T* fresh = directions_.row(n);
        std::size_t k = 0;
        for (; n - k > kChunk; k += kChunk) {  // long supports: take off eight directions at a time, the last ones below
            subtract(row, across + k, directions_.row(k), fresh);
            row = fresh;
        }
        const T* base = directions_.row(k);
        switch (n - k) {
            case 0: return pass<LeastSquares, 0>(row, base, across + k, inverse, weight, k == 0, correlations, hint, fresh);
            case 1: return pass<LeastSquares, 1>(row, base, across + k, inverse, weight, k == 0, correlations, hint, fresh);
            case 2: return pass<LeastSquares, 2>(row, base, across + k, inverse, weight, k == 0, correlations, hint, fresh);
            case 3: return pass<LeastSquares, 3>(row, base, across + k, inverse, weight, k == 0, correlations, hint, fresh);
            case 4: return pass<LeastSquares, 4>(row, base, across + k, inverse, weight, k == 0, correlations, hint, fresh);
            case 5: return pass<LeastSquares, 5>(row, base, across + k, inverse, weight, k == 0, correlations, hint, fresh);
            case 6: return pass<LeastSquares, 6>(row, base, across + k, inverse, weight, k == 0, correlations, hint, fresh);
            case 7: return pass<LeastSquares, 7>(row, base, across + k, inverse, weight, k == 0, correlations, hint, fresh);
            default: return pass<LeastSquares, 8>(row, base, across + k, inverse, weight, k == 0, correlations, hint, fresh);
        }
    }

    void subtract(const T* row, const T* across, const T* base, T* out) {
        constexpr std::size_t kChunk = Shelf<T>::kChunk;
        Vec<T> factor[kChunk];
        for (std::size_t k = 0; k < kChunk; k++) factor[k] = splat(across[k]);
        for (std::size_t i = 0; i < padded_; i += kLanes<T>) {
            Vec<T> x = load(row + i);
#pragma GCC unroll 8
            for (std::size_t k = 0; k < kChunk; k++) x = fnma(factor[k], load(base + k * padded_ + i), x);
            store(out + i, x);
        }
    }

    // fresh = (row - across . directions) * inverse, then correlations, norms left, and the best atom, all in one pass.
    // The norm left to an atom is made anew from the last directions: they are at hand, and memory is the bottleneck.
    template <bool LeastSquares, int N>
    std::int64_t pass(const T* row, const T* base, const T* across, T inverse, T weight, bool is_first_chunk, T* correlations, T hint, T* fresh) {
        Vec<T> factor[N > 0 ? N : 1];
        for (int k = 0; k < N; k++) factor[k] = splat(across[k]);
        const Vec<T> scale = splat(inverse), step = splat(weight), one = splat(T(1));
        T* left_before = left_.data();
        const std::size_t padded = padded_;
        Best<T> best{hint};
        Vec<T> bar = splat(hint);
        for (std::size_t i = 0; i < padded; i += 2 * kLanes<T>) {
            unsigned bits = 0;
            Vec<T> left[2];
#pragma GCC unroll 2
            for (std::size_t h = 0; h < 2; h++) {
                const std::size_t at = i + h * kLanes<T>;
                Vec<T> x = load(row + at);
                if (LeastSquares) left[h] = is_first_chunk ? one : load(left_before + at);
#pragma GCC unroll 8
                for (int k = 0; k < N; k++) {
                    const Vec<T> direction = load(base + std::size_t(k) * padded + at);
                    x = fnma(factor[k], direction, x);
                    if (LeastSquares) left[h] = fnma(direction, direction, left[h]);
                }
                if (LeastSquares && N == Shelf<T>::kChunk) store(left_before + at, left[h]);
                x = x * scale;
                store(fresh + at, x);
                const Vec<T> c = fnma(step, x, load(correlations + at));
                store(correlations + at, c);
                if (LeastSquares) {
                    left[h] = fnma(x, x, left[h]);
                    bits |= above(c * c, bar * left[h]) << h * kLanes<T>;
                } else {
                    bits |= above(absolute(c), bar) << h * kLanes<T>;
                }
            }
            if (bits == 0) continue;
            for (; bits != 0; bits &= bits - 1) {
                const std::size_t lane = std::size_t(__builtin_ctz(bits));
                const T c = correlations[i + lane], rest = LeastSquares ? left[lane / kLanes<T>][lane % kLanes<T>] : T(1);
                if (rest > kDependent<T>) best.offer(LeastSquares ? c * c / rest : std::fabs(c), i + lane);  // else in the span
            }
            bar = splat(best.score);
        }
        second_ = best.second;
        return best.slot;
    }

    // The score that last pass's second best will have after this one, less what rounding may change.
    template <bool LeastSquares>
    T foreseen(const T* row, const T* across, std::size_t n, T inverse, T weight, const T* correlations) {
        if (second_ < 0) return 0;
        T x = row[second_], left = 1;
        for (std::size_t k = 0; k < n; k++) {
            const T direction = directions_.row(k)[second_];
            x -= across[k] * direction;
            left -= direction * direction;
        }
        x *= inverse;
        left -= x * x;
        const T c = correlations[second_] - weight * x;
        if (LeastSquares) return left > T(1e-2) ? c * c / left * T(0.999) : T(0);  // a small rest is mostly rounding
        return T(0.999) * std::fabs(c);
    }

    void back_substitute(std::size_t n) {
        for (std::size_t k = n; k-- > 0;) {
            T value = weights_[k];
            for (std::size_t l = k + 1; l < n; l++) value -= triangle_[l * (l + 1) / 2 + k] * values[l];
            values[k] = value * triangle_[k * (k + 1) / 2 + k];
        }
    }

    std::size_t padded_, n_most_;
    std::int64_t second_ = -1;  // of this patch alone: a neighbour must not be able to change a bit
    T residual_;
    bool least_squares_;
    Buffer<T> left_, triangle_, weights_;
    Shelf<T> directions_;
};

}  // namespace epitomes::EPITOMES_ISA
