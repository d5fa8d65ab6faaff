// Greedy codes on the Gram matrix: orthogonal matching pursuit and orthogonal least squares.
// Chosen atoms are orthonormalised one after another. With u_k the k-th orthonormal direction, row k of `directions`
// holds <d_j, u_k> for every atom j, so one pass per atom updates all correlations and finds the next atom.
#pragma once

#include <cmath>

#include "gram.hpp"

namespace epitomes::EPITOMES_ISA {

// The best atom so far, lane by lane. Scores are fractions num / den, compared by cross-multiplication: a division per
// atom would cost more than all the rest of the pass. Ties go to the lowest slot.
template <class T>
struct Best {
    Vec<T> num{}, den = splat(T(1));
    Ints<T> slot{};

    inline void offer(Vec<T> n, Vec<T> d, Ints<T> s) {
        const Ints<T> better = n * den > num * d;
        num = better ? n : num;
        den = better ? d : den;
        slot = better ? s : slot;
    }
    inline void offer(Vec<T> n, Ints<T> s) {
        const Ints<T> better = n > num;
        num = better ? n : num;
        slot = better ? s : slot;
    }
};

// Two vectors are compared side by side, because each comparison waits for the one before it.
template <class T>
struct BestPair {
    Best<T> best[2];

    // The slot of the best score, or -1 where every score is zero.
    std::int64_t winner() const {
        std::int64_t slot = -1;
        T n = 0, d = 1;
        for (std::size_t i = 0; i < 2 * kLanes<T>; i++) {
            const Best<T>& half = best[i / kLanes<T>];
            const std::size_t lane = i % kLanes<T>;
            const T left = half.num[lane] * d, right = n * half.den[lane];
            if (left > right || (left == right && slot >= 0 && std::int64_t(half.slot[lane]) < slot)) {
                n = half.num[lane];
                d = half.den[lane];
                slot = std::int64_t(half.slot[lane]);
            }
        }
        return slot;
    }
};

template <class T>
inline Ints<T> first_slots() {
    Ints<T> slots;
    for (std::size_t i = 0; i < kLanes<T>; i++) slots[i] = typename Simd<T>::Int(i);
    return slots;
}

template <class T>
inline constexpr T kDependent = sizeof(T) == 4 ? T(1e-6) : T(1e-12);  // squared norm left to an atom in the span

template <class T>
class PursuitSolver {
   public:
    PursuitSolver(const Atoms<T>& atoms, const Pursuit& pursuit)
        : padded_(atoms.padded), n_most_(pursuit.n_nonzero), residual_(T(pursuit.residual)), least_squares_(pursuit.least_squares), directions_(pursuit.n_nonzero, atoms.padded) {
        correlations_ = Buffer<T>(padded_);
        left_ = Buffer<T>(padded_);
        triangle_ = Buffer<T>(n_most_ * (n_most_ + 1) / 2);
        weights_ = Buffer<T>(n_most_);
        slots = Buffer<std::int32_t>(n_most_);
        values = Buffer<T>(n_most_);
    }

    Buffer<std::int32_t> slots;  // the code of the last patch
    Buffer<T> values;

    // A patch within the bound needs no atom, hence no correlations.
    bool is_empty(T energy, T share) const { return energy <= residual_ * share; }

    // Codes one patch from its correlations; `share` is the share of pixels that are known.
    template <class Gram>
    std::size_t solve(const T* start, T energy, T share, Gram& gram) {
        return least_squares_ ? solve_by<true>(start, energy, share, gram) : solve_by<false>(start, energy, share, gram);
    }

   private:
    template <bool LeastSquares, class Gram>
    std::size_t solve_by(const T* start, T energy, T share, Gram& gram) {
        const T bound = residual_ * share;
        std::int64_t slot = first_best(start);
        std::size_t n = 0;
        while (slot >= 0 && n < n_most_ && energy > bound) {
            const T* row = gram.row(std::size_t(slot));
            T* across = triangle_.data() + n * (n + 1) / 2;
            T pivot = row[slot];
            for (std::size_t k = 0; k < n; k++) {
                across[k] = directions_.row(k)[slot];
                pivot -= across[k] * across[k];
            }
            if (!(pivot > kDependent<T>)) break;
            const T inverse = T(1) / std::sqrt(pivot);
            const T weight = (n == 0 ? start : correlations_.data())[slot] * inverse;
            across[n] = inverse;
            weights_[n] = weight;
            slots[n] = std::int32_t(slot);
            energy -= weight * weight;
            n++;
            if (n == n_most_ || energy <= bound) break;
            slot = next_best<LeastSquares>(row, across, n - 1, inverse, weight, start);
        }
        back_substitute(n);
        return n;
    }

    std::int64_t first_best(const T* c) const {
        BestPair<T> pair;
        Ints<T> slots = first_slots<T>();
        for (std::size_t i = 0; i < padded_; i += 2 * kLanes<T>)
            for (int h = 0; h < 2; h++) {
                pair.best[h].offer(absolute(load(c + i + std::size_t(h) * kLanes<T>)), slots);
                slots += typename Simd<T>::Int(kLanes<T>);
            }
        return pair.winner();
    }

    template <bool LeastSquares>
    std::int64_t next_best(const T* row, const T* across, std::size_t n, T inverse, T weight, const T* start) {
        constexpr std::size_t kChunk = Shelf<T>::kChunk;
        T* fresh = directions_.row(n);
        std::size_t k = 0;
        for (; n - k > kChunk; k += kChunk) {  // long supports: take off eight directions at a time, the last ones below
            subtract(row, across + k, directions_.row(k), fresh);
            row = fresh;
        }
        const T* base = directions_.row(k);
        switch (n - k) {
            case 0: return pass<LeastSquares, 0>(row, base, across + k, inverse, weight, n == 0, start, fresh);
            case 1: return pass<LeastSquares, 1>(row, base, across + k, inverse, weight, n == 0, start, fresh);
            case 2: return pass<LeastSquares, 2>(row, base, across + k, inverse, weight, n == 0, start, fresh);
            case 3: return pass<LeastSquares, 3>(row, base, across + k, inverse, weight, n == 0, start, fresh);
            case 4: return pass<LeastSquares, 4>(row, base, across + k, inverse, weight, n == 0, start, fresh);
            case 5: return pass<LeastSquares, 5>(row, base, across + k, inverse, weight, n == 0, start, fresh);
            case 6: return pass<LeastSquares, 6>(row, base, across + k, inverse, weight, n == 0, start, fresh);
            case 7: return pass<LeastSquares, 7>(row, base, across + k, inverse, weight, n == 0, start, fresh);
            default: return pass<LeastSquares, 8>(row, base, across + k, inverse, weight, n == 0, start, fresh);
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
    template <bool LeastSquares, int N>
    std::int64_t pass(const T* row, const T* base, const T* across, T inverse, T weight, bool is_first, const T* start, T* fresh) {
        Vec<T> factor[N > 0 ? N : 1];
        for (int k = 0; k < N; k++) factor[k] = splat(across[k]);
        const Vec<T> scale = splat(inverse), step = splat(weight), least = splat(kDependent<T>), one = splat(T(1));
        const T* before = is_first ? start : correlations_.data();
        T *correlations = correlations_.data(), *left_over = left_.data();
        const std::size_t padded = padded_;
        BestPair<T> pair;
        Ints<T> slots = first_slots<T>();
        for (std::size_t i = 0; i < padded; i += 2 * kLanes<T>)
#pragma GCC unroll 2
            for (int h = 0; h < 2; h++) {
                const std::size_t at = i + std::size_t(h) * kLanes<T>;
                Vec<T> x = load(row + at);
#pragma GCC unroll 8
                for (int k = 0; k < N; k++) x = fnma(factor[k], load(base + std::size_t(k) * padded + at), x);
                x = x * scale;
                store(fresh + at, x);
                const Vec<T> c = fnma(step, x, load(before + at));
                store(correlations + at, c);
                if (LeastSquares) {
                    const Vec<T> left = fnma(x, x, is_first ? one : load(left_over + at));
                    store(left_over + at, left);
                    const Ints<T> open = left > least;  // rounding may leave less than nothing of an atom in the span
                    pair.best[h].offer(open ? c * c : Vec<T>{}, open ? left : least, slots);
                } else {
                    pair.best[h].offer(absolute(c), slots);
                }
                slots += typename Simd<T>::Int(kLanes<T>);
            }
        return pair.winner();
    }

    void back_substitute(std::size_t n) {
        for (std::size_t k = n; k-- > 0;) {
            T value = weights_[k];
            for (std::size_t l = k + 1; l < n; l++) value -= triangle_[l * (l + 1) / 2 + k] * values[l];
            values[k] = value * triangle_[k * (k + 1) / 2 + k];
        }
    }

    std::size_t padded_, n_most_;
    T residual_;
    bool least_squares_;
    Buffer<T> correlations_, left_, triangle_, weights_;
    Shelf<T> directions_;
};

}  // namespace epitomes::EPITOMES_ISA
