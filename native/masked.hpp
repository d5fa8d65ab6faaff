// Pursuits of patches with unknown pixels. Each patch has a dictionary of its own, the atoms cut by its mask, so there is
// no Gram matrix to share. Directions are therefore kept as pixels, known ones only, and the product of the newest one
// with all atoms is the only long sum of a step. Where few pixels are unknown, it is shorter as a sum of rows of the Gram
// matrix of whole atoms, less the products at unknown pixels. Some patches go step by step together, and another takes the
// place of one that is finished: a few tiles of atoms are read from the nearest cache by all of them. What a patch
// computes does not depend on who goes with it.
#pragma once

#include <cmath>
#include <utility>

#include "matrix.hpp"
#include "pursuit.hpp"

namespace epitomes::EPITOMES_ISA {

// The best atom of each lane: the one with the largest c^2 / rest, compared by multiplying. The first of equals stays.
template <class T>
struct BestByLane {
    Vec<T> square{}, rest = splat(T(1));
    Ints<T> vector = Ints<T>{} - 1;  // the slot of its first lane; -1 while there is none

    void offer(Vec<T> c, Vec<T> left, std::size_t slot) {
        const Vec<T> energy = c * c;
        const Ints<T> better = (left > Vec<T>{}) & (energy * rest > square * left);
        square = better ? energy : square;
        rest = better ? left : rest;
        vector = better ? Ints<T>{} + typename Simd<T>::Int(slot) : vector;
    }
    // The best of all lanes, -1 if there is none; of equals the lowest slot.
    std::int64_t slot() const {
        const Vec<T> scores = square / rest;
        const T top = lane_max<T>(scores);
        std::int64_t best = -1;
        for (std::size_t lane = 0; lane < kLanes<T>; lane++) {
            const std::int64_t at = std::int64_t(vector[lane]) + std::int64_t(lane);
            best = scores[lane] == top && vector[lane] >= 0 && (best < 0 || at < best) ? at : best;
        }
        return best;
    }
};

template <class T, bool LeastSquares>
class MaskedPursuit {
   public:
    // `gram` are the rows of the Gram matrix of whole atoms, or null.
    MaskedPursuit(const Atoms<T>& atoms, const Pursuit& pursuit, const T* gram)
        : atoms_(atoms), gram_(gram), residual_(T(pursuit.residual)), n_most_(pursuit.n_nonzero), correlations_(kTogether, atoms.padded),
          left_(kTogether, atoms.padded), rows_(kTogether, atoms.m),
          directions_(kTogether * n_most_, atoms.m), triangles_(kTogether, n_most_ * (n_most_ + 1) / 2), weights_(kTogether, n_most_),
          beyond_(kTogether * n_most_, gram == nullptr ? 0 : atoms.m), sums_(kTogether * n_most_, gram == nullptr ? 0 : n_most_),
          rest_(kTogether, atoms.m), parts_(n_most_), places_(kTogether * 2 * (atoms.m + 1)), slots_(kTogether * n_most_) {}

    template <class Sink>
    void run(const Rows<T>& rows, Stop stop, Sink& sink) {
        for (std::size_t first = 0; first < rows.n && !stop.raised(); first += kInOrder) {
            const std::size_t n = rows.n - first < kInOrder ? rows.n - first : kInOrder;
            run_some({rows.data + first * atoms_.m, rows.mask + first * atoms_.m, n});
            for (std::size_t k = 0; k < n; k++) sink.add(codes_[k].n, found_.data() + codes_[k].first, values_.data() + codes_[k].first);
            found_.shorten(found_.size());
            values_.shorten(values_.size());
        }
    }

   private:
    struct Code {
        std::size_t first, n;
    };
    struct Patch {
        std::size_t row, n_known, n_chosen;
        T energy, bound, weight;
        BestByLane<T> best;
        const T* newest;  // what the atoms are multiplied by next: the patch itself, then each new direction
        bool well, by_gram;  // whether directions are kept as sums of atoms, too; whether the Gram matrix makes the next products
    };

    // Codes rows in the order in which they are finished: the next one begins as soon as there is a place for it.
    void run_some(const Rows<T>& rows) {
        std::size_t places[kTogether], n_busy = 0, next = 0;
        for (std::size_t i = 0; i < kTogether; i++) places[i] = i;  // busy ones first
        do {
            for (; n_busy < kTogether && next < rows.n; next++) {
                codes_[next] = Code{};
                n_busy += std::size_t(begin(places[n_busy], next, rows));
            }
            over_tiles(places, n_busy);
            for (std::size_t k = n_busy; k-- > 0;)
                if (!choose(places[k])) {
                    finish(places[k]);
                    std::swap(places[k], places[--n_busy]);
                }
        } while (n_busy > 0 || next < rows.n);
    }

    // Takes the known pixels of a patch; false if it needs no atoms.
    bool begin(std::size_t i, std::size_t of, const Rows<T>& rows) {
        const T* row = rows.data + of * atoms_.m;
        const std::uint8_t* mask = rows.mask + of * atoms_.m;
        Patch& patch = patches_[i];
        patch = Patch{};
        patch.row = of;
        T* values = rows_.row(i);
        std::int32_t n = 0;
        for (std::size_t k = 0; k < atoms_.m; k++) {
            values[k] = mask[k] != 0 ? row[k] : T(0);
            n += mask[k] != 0;
        }
        patch.n_known = std::size_t(n);
        patch.energy = dot(values, values, rows_.stride);
        patch.bound = residual_ * (T(n) / T(atoms_.m));
        if (n == 0 || !(patch.energy > patch.bound)) return false;
        // Known pixels move to the front. Masks cannot be guessed, so there is no branch.
        std::int32_t *known = known_of(i), *unknown = unknown_of(i);
        std::size_t n_known = 0;
        for (std::size_t k = 0; k < atoms_.m; k++) {
            values[n_known] = values[k];
            known[n_known] = unknown[k - n_known] = std::int32_t(k);
            n_known += std::size_t(mask[k] != 0);
        }
        std::memset(static_cast<void*>(values + n_known), 0, (rows_.stride - n_known) * sizeof(T));
        patch.newest = values;
        patch.well = gram_ != nullptr && 3 * (atoms_.m - n_known) < n_known;  // few are unknown
        return true;
    }

    std::int32_t* known_of(std::size_t i) { return places_.data() + i * 2 * (atoms_.m + 1); }
    std::int32_t* unknown_of(std::size_t i) { return known_of(i) + atoms_.m + 1; }

    // Adds the best atom to the code; false if the code is complete.
    bool choose(std::size_t i) {
        Patch& patch = patches_[i];
        const std::int64_t found = patch.best.slot();
        if (found < 0) return false;
        const std::size_t slot = std::size_t(found), n = patch.n_chosen;
        T* fresh = directions_.row(i * n_most_ + n);
        T* across = triangles_.row(i) + n * (n + 1) / 2;
        const T* atom = atoms_.unit.data() + slot * atoms_.m;
        const std::int32_t* places = known_of(i);
        const std::size_t n_known = patch.n_known, wide = round_up(n_known, kLanes<T>);
        for (std::size_t k = 0; k < n_known; k++) fresh[k] = atom[places[k]];
        for (std::size_t k = n_known; k < wide; k++) fresh[k] = 0;
        const T norm = std::sqrt(dot(fresh, fresh, wide)), longer = 1 / norm;
        for (std::size_t k = 0; k < wide; k++) fresh[k] *= longer;
        for (std::size_t k = 0; k < n; k++) across[k] = 0;
        T pivot = 1;
        for (int turn = 0; turn < 2 && (turn == 0 || pivot < T(0.25)); turn++) {  // once more takes off what rounding left
            dots(fresh, directions_.row(i * n_most_), directions_.stride, n, wide, parts_.data());
            for (std::size_t k = 0; k < n; k++) across[k] += parts_[k];
            Vec<T> squares{};
            for (std::size_t x = 0; x < wide; x += kLanes<T>) {
                Vec<T> rest = load(fresh + x);
                for (std::size_t k = 0; k < n; k++) rest = fnma(splat(parts_[k]), load(directions_.row(i * n_most_ + k) + x), rest);
                store(fresh + x, rest);
                squares = fma(rest, rest, squares);
            }
            pivot = lane_sum<T>(squares);
        }
        if (!(pivot > kDependent<T>)) return false;
        const T inverse = T(1) / std::sqrt(pivot);
        for (std::size_t k = 0; k < n_known; k++) fresh[k] *= inverse;
        patch.well = patch.well && pivot > T(kWellPosed);
        patch.by_gram = patch.well && atoms_.m - n_known + n + 1 + kGramCosts < n_known;
        if (patch.well) extend(i, atom, inverse, longer, across);
        patch.weight = dot(rows_.row(i), fresh, wide);
        across[n] = inverse / norm;
        for (std::size_t k = 0; k < n; k++) across[k] *= norm;
        weights_.row(i)[n] = patch.weight;
        slots_[i * n_most_ + n] = std::int32_t(slot);
        patch.energy -= patch.weight * patch.weight;
        patch.newest = fresh;
        patch.best = BestByLane<T>();
        patch.n_chosen++;
        return patch.n_chosen < n_most_ && patch.energy > patch.bound;
    }

    // The newest direction as a sum of atoms, and what that sum is at unknown pixels.
    void extend(std::size_t i, const T* atom, T inverse, T longer, const T* across) {
        const Patch& patch = patches_[i];
        const std::size_t n = patch.n_chosen, first = i * n_most_, n_unknown = atoms_.m - patch.n_known;
        const std::int32_t* unknown = unknown_of(i);
        T *mine = sums_.row(first + n), *beyond = beyond_.row(first + n), *rest = rest_.row(i);
        for (std::size_t l = 0; l < n; l++) mine[l] = 0;
        for (std::size_t k = 0; k < n_unknown; k++) beyond[k] = atom[unknown[k]] * longer;
        for (std::size_t k = 0; k < n; k++) {
            const T *other = sums_.row(first + k), *there = beyond_.row(first + k);
            for (std::size_t l = 0; l <= k; l++) mine[l] -= across[k] * other[l];
            for (std::size_t l = 0; l < n_unknown; l++) beyond[l] -= across[k] * there[l];
        }
        for (std::size_t l = 0; l < n; l++) mine[l] *= inverse;
        mine[n] = inverse * longer;
        for (std::size_t k = 0; k < n_unknown; k++) rest[k] = -(beyond[k] *= inverse);
    }

    void over_tiles(const std::size_t* places, std::size_t n) {
        const std::size_t n_tiles = atoms_.padded / (2 * kLanes<T>);
        std::size_t t = 0;
        for (; t + kTilesAtOnce <= n_tiles; t += kTilesAtOnce)
            for (std::size_t k = 0; k < n; k++) over_some_tiles<kTilesAtOnce, kTilesWithNorms>(places[k], t);
        for (; t < n_tiles; t++)
            for (std::size_t k = 0; k < n; k++) over_some_tiles<1, 1>(places[k], t);
    }
    template <int G, int WithNorms>
    void over_some_tiles(std::size_t i, std::size_t t) {
        static_assert(G % WithNorms == 0);
        if (patches_[i].n_chosen > 0) return pass<G, false>(i, 2 * t * kLanes<T>);
        for (std::size_t k = 0; k < G; k += WithNorms) pass<WithNorms, true>(i, 2 * (t + k) * kLanes<T>);
    }

    // The atoms of G tiles: correlations with the patch, what is left of the atoms' norms, and the best atom among them. Not
    // inlined: there would not be enough registers.
    template <int G, bool First>
    __attribute__((noinline)) void pass(std::size_t i, std::size_t slot) {
        constexpr std::size_t lanes = kLanes<T>;
        Patch& patch = patches_[i];
        T *correlations = correlations_.row(i) + slot, *left = left_.row(i) + slot;
        const KnownPixels<T> row{patch.newest, known_of(i), patch.n_known};
        const T* tile = atoms_.packed.data() + slot * atoms_.m;
        const std::size_t n_unknown = atoms_.m - patch.n_known;
        const Vec<T> weight = splat(patch.weight);
        BestByLane<T> best = patch.best;
        const auto take = [&](const Vec<T>* products, const Vec<T>* norms) {
#pragma GCC unroll 8
            for (std::size_t v = 0; v < 2 * G; v++) {
                T *c_at = correlations + v * lanes, *left_at = left + v * lanes;
                const Vec<T> c = First ? products[v] : fnma(weight, products[v], load(c_at));
                Vec<T> rest = First ? usable(norms[v]) : load(left_at);
                if (!First && LeastSquares) rest = fnma(products[v], products[v], rest);
                store(c_at, c);
                if (First || LeastSquares) store(left_at, rest);
                best.offer(c, rest, slot + v * lanes);
            }
        };
        if (First && 2 * n_unknown < patch.n_known) {
            sum_known_of_most<G>(tile, atoms_.m, row, unknown_of(i), take);
        } else if (!First && patch.by_gram) {
            const GramSum<T> sum{gram_, atoms_.padded, slots_.data() + i * n_most_, sums_.row(i * n_most_ + patch.n_chosen - 1), patch.n_chosen};
            sum_by_gram<G>(tile, atoms_.m, sum, {rest_.row(i), unknown_of(i), n_unknown}, slot, take);
        } else {
            sum_known<G, First>(tile, atoms_.m, row, take);
        }
        patch.best = best;
    }

    // What an atom may explain of its squared norm. Atoms without known pixels have nothing to begin with, and those in the
    // span of the others nothing that rounding would not hide.
    static Vec<T> usable(Vec<T> norm) {
        return norm > splat(kDependent<T>) ? norm * splat(1 - kDependent<T>) : Vec<T>{};
    }

    // Solves for the coefficients and keeps the code until its turn.
    void finish(std::size_t i) {
        const std::size_t n = patches_[i].n_chosen;
        const T *triangle = triangles_.row(i), *weights = weights_.row(i);
        codes_[patches_[i].row] = {found_.size(), n};
        std::memcpy(found_.extend(n), slots_.data() + i * n_most_, n * sizeof(std::int32_t));
        T* values = values_.extend(n);
        for (std::size_t k = n; k-- > 0;) {
            T value = weights[k];
            for (std::size_t l = k + 1; l < n; l++) value -= triangle[l * (l + 1) / 2 + k] * values[l];
            values[k] = value * triangle[k * (k + 1) / 2 + k];
        }
    }

    static constexpr double kWellPosed = 1e-2;     // squared norm of a new direction: below it, sums of atoms cancel
    static constexpr std::size_t kGramCosts = 2;   // pixels whose products take as long as the beginning of a sum by the Gram matrix
    static constexpr std::size_t kTogether = 16;   // patches, whose correlations stay in the second-level cache
    static constexpr std::size_t kInOrder = 256;   // patches, after which all are finished

    const Atoms<T>& atoms_;
    const T* gram_;
    T residual_;
    std::size_t n_most_;
    Patch patches_[kTogether];
    Code codes_[kInOrder];
    Matrix<T> correlations_, left_, rows_, directions_, triangles_, weights_;
    Matrix<T> beyond_, sums_, rest_;  // directions at unknown pixels, as sums of atoms, and the newest one, negated, at unknown pixels
    Buffer<T> parts_;
    Buffer<std::int32_t> places_, slots_;
    Growing<std::int32_t> found_;  // finished codes
    Growing<T> values_;
};

}  // namespace epitomes::EPITOMES_ISA
