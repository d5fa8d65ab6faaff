// Lasso by LARS: follows the solution from the largest correlation down to lam, one atom in or out at a time.
// At lam the active-set solver takes over from the code reached: it proves optimality, and repairs it where rounding or
// dependent atoms led the path astray.
#pragma once

#include "lasso.hpp"

namespace epitomes::EPITOMES_ISA {

// Receives the code at every knot of the path.
template <class T>
struct NoKnots {
    template <class V>
    void add(double, std::size_t, const std::int32_t*, const V*) {}
};

template <class T>
class LarsSolver {
   public:
    LarsSolver(const Atoms<T>& atoms, const Lasso& lasso, Stop stop)
        : closing_(atoms, lasso, stop), stop_(stop), padded_(atoms.padded), capacity_(closing_.capacity()), lam_(lasso.lam), positive_(lasso.positive), factor_(capacity_) {
        correlations_ = Buffer<T>(padded_);
        change_ = Buffer<T>(padded_);
        zeros_ = Buffer<T>(padded_);
        active_ = Buffer<std::int32_t>(capacity_);
        barred_ = Buffer<std::int32_t>(atoms.p);
        rows_ = Buffer<const T*>(capacity_);
        code_ = Buffer<double>(capacity_);
        sign_ = Buffer<double>(capacity_);
        slope_ = Buffer<double>(capacity_);
        column_ = Buffer<double>(capacity_);
        steps_ = Buffer<T>(capacity_);
    }

    const std::int32_t* slots() const { return closing_.slots.data(); }
    const T* values() const { return closing_.values.data(); }
    bool is_empty(T energy) const { return closing_.is_empty(energy); }

    template <class Gram, class Knots>
    std::size_t solve(const T* start, T energy, Gram& gram, Knots& knots) {
        if (positive_)
            follow<true>(start, gram, knots);
        else
            follow<false>(start, gram, knots);
        for (std::size_t k = 0; k < n_; k++) {
            closing_.slots[k] = active_[k];
            closing_.values[k] = T(code_[k]);
        }
        const std::size_t n = closing_.solve(start, energy, n_, gram);
        knots.add(lam_, n, closing_.slots.data(), closing_.values.data());
        return n;
    }

   private:
    template <bool Positive, class Gram, class Knots>
    void follow(const T* start, Gram& gram, Knots& knots) {
        n_ = n_barred_ = 0;
        just_left_ = -1;
        std::size_t entering = 0;
        for (std::size_t s = 1; s < padded_; s++)
            if (size<Positive>(start[s]) > size<Positive>(start[entering])) entering = s;
        double level = double(size<Positive>(start[entering]));
        if (level <= lam_) return;
        knots.add(level, 0, active_.data(), code_.data());
        enter(entering, start[entering] > 0 ? 1 : -1, gram);
        for (std::size_t round = 0; round < 8 * capacity_ + 64 && n_ > 0 && !stop_.raised(); round++) {
            for (std::size_t k = 0; k < n_; k++) steps_[k] = T(code_[k]);
            residual_correlations<Positive>(start, rows_.data(), steps_.data(), n_, padded_, correlations_.data());
            factor_.solve(n_, sign_.data(), slope_.data());
            for (std::size_t k = 0; k < n_; k++) steps_[k] = -T(slope_[k]);
            residual_correlations<Positive>(zeros_.data(), rows_.data(), steps_.data(), n_, padded_, change_.data());
            double length = level - lam_;
            const std::size_t leaving = first_to_vanish(&length);
            const std::int64_t next = first_to_enter<Positive>(level, &length);
            const bool is_last = leaving == n_ && next < 0;
            for (std::size_t k = 0; k < n_; k++) code_[k] += length * slope_[k];
            if (is_last) return;
            level -= length;
            if (next >= 0) {
                knots.add(level, n_, active_.data(), code_.data());
                enter(std::size_t(next), sign_at(std::size_t(next), start), gram);
            } else {
                code_[leaving] = 0;
                knots.add(level, n_, active_.data(), code_.data());
                leave(leaving);
            }
        }
    }

    template <bool Positive>
    static T size(T c) {
        return Positive || c > 0 ? c : -c;
    }

    // The active value that reaches zero within `length`, which is shortened to it; n_ if none does.
    std::size_t first_to_vanish(double* length) const {
        std::size_t first = n_;
        for (std::size_t k = 0; k < n_; k++) {
            if (code_[k] * slope_[k] >= 0) continue;
            const double reach = -code_[k] / slope_[k];
            if (reach < *length) {
                *length = reach;
                first = k;
            }
        }
        return first;
    }

    // The atom whose correlation meets the falling level within `length`, which is shortened to it; -1 if none does.
    template <bool Positive>
    std::int64_t first_to_enter(double level, double* length) {
        for (std::size_t k = 0; k < n_; k++) hide(active_[k]);
        for (std::size_t k = 0; k < n_barred_; k++) hide(barred_[k]);
        if (just_left_ >= 0) hide(just_left_);  // it touches the level: not back in at once
        just_left_ = -1;
        const Vec<T> top = splat(T(level)), one = splat(T(1)), never = splat(T(2) * T(level)), least = splat(sizeof(T) == 4 ? T(1e-6) : T(1e-12));
        Vec<T> nearest = never;
        Ints<T> slots{}, slot;
        for (std::size_t i = 0; i < kLanes<T>; i++) slot[i] = typename Simd<T>::Int(i);
        for (std::size_t i = 0; i < padded_; i += kLanes<T>) {
            const Vec<T> c = load(correlations_.data() + i), w = load(change_.data() + i);
            const Vec<T> rise = one - w, fall = one + w;
            Vec<T> reach = rise > least ? max(top - c, Vec<T>{}) / rise : never;
            if (!Positive) {
                const Vec<T> other = fall > least ? max(top + c, Vec<T>{}) / fall : never;
                reach = other < reach ? other : reach;
            }
            const Ints<T> nearer = reach < nearest;
            nearest = nearer ? reach : nearest;
            slots = nearer ? slot : slots;
            slot += typename Simd<T>::Int(kLanes<T>);
        }
        std::int64_t next = -1;
        for (std::size_t i = 0; i < kLanes<T>; i++)
            if (double(nearest[i]) < *length) {
                *length = double(nearest[i]);
                next = std::int64_t(slots[i]);
            }
        return next;
    }
    // A hidden atom has no correlation and no change, so that it cannot be met before lam.
    void hide(std::int32_t slot) { correlations_[std::size_t(slot)] = change_[std::size_t(slot)] = T(0); }

    double sign_at(std::size_t slot, const T* start) const {
        double c = double(start[slot]);
        for (std::size_t k = 0; k < n_; k++) c -= code_[k] * double(rows_[k][slot]);
        return c > 0 ? 1 : -1;
    }

    template <class Gram>
    void enter(std::size_t slot, double sign, Gram& gram) {
        const T* row = gram.row(slot);
        for (std::size_t k = 0; k < n_; k++) column_[k] = double(row[active_[k]]);
        if (n_ == capacity_ || !factor_.grow(n_, column_.data(), double(row[slot]), kSmallest<T>)) {
            barred_[n_barred_++] = std::int32_t(slot);  // in the span of the active ones: it can add nothing until one leaves
            return;
        }
        active_[n_] = std::int32_t(slot);
        rows_[n_] = row;
        code_[n_] = 0;
        sign_[n_] = sign;
        n_++;
    }

    void leave(std::size_t at) {
        just_left_ = active_[at];
        n_--;
        for (std::size_t k = at; k < n_; k++) {
            active_[k] = active_[k + 1];
            rows_[k] = rows_[k + 1];
            code_[k] = code_[k + 1];
            sign_[k] = sign_[k + 1];
        }
        factor_.shrink(n_, at);
        n_barred_ = 0;
    }

    LassoSolver<T> closing_;
    Stop stop_;
    std::size_t padded_, capacity_, n_ = 0, n_barred_ = 0;
    double lam_;
    bool positive_;
    std::int32_t just_left_ = -1;
    Cholesky factor_;
    Buffer<T> correlations_, change_, zeros_, steps_;
    Buffer<std::int32_t> active_, barred_;
    Buffer<const T*> rows_;
    Buffer<double> code_, sign_, slope_, column_;
};

}  // namespace epitomes::EPITOMES_ISA
