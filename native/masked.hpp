// Pursuits of patches with unknown pixels. Each patch has a dictionary of its own, the atoms cut by its mask, so there is
// no Gram matrix to share. Directions are therefore kept as pixels, known ones only, and the product of the newest one
// with all atoms is the only long sum of a step. Where few pixels are unknown, it is shorter as a sum of rows of the Gram
// matrix of whole atoms, less the products at unknown pixels. Some patches go step by step together: a few tiles of atoms are read
// from the nearest cache by all of them. What a patch computes does not depend on who goes with it.
#pragma once

#include <cmath>

#include "matrix.hpp"
#include "pursuit.hpp"

namespace epitomes::EPITOMES_ISA {

// The best atom of each lane: the one with the largest c^2 / rest, compared by multiplying. The first of equals stays.
template <class T>
struct BestByLane {
    Vec<T> square{}, rest = splat(T(1));
    Ints<T> vector = Ints<T>{} - 1;  // the slot of its first lane; -1 while there is none

    void offer(Vec<T> c, Vec<T> left, Ints<T> eligible, std::size_t slot) {
        const Vec<T> energy = c * c;
        const Ints<T> better = eligible & (energy * rest > square * left);
        square = better ? energy : square;
        rest = better ? left : rest;
        vector = better ? Ints<T>{} + typename Simd<T>::Int(slot) : vector;
    }
    // The best of all lanes, -1 if there is none; of equals the lowest slot.
    std::int64_t slot() const {
        std::int64_t best = -1;
        T score = 0;
        for (std::size_t lane = 0; lane < kLanes<T>; lane++) {
            const T mine = square[lane] / rest[lane];
            const std::int64_t at = std::int64_t(vector[lane]) + std::int64_t(lane);
            if (vector[lane] < 0 || mine < score || (mine == score && best >= 0 && at > best)) continue;
            score = mine;
            best = at;
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
          norms_(kTogether, atoms.padded), left_(LeastSquares ? kTogether : 0, atoms.padded), rows_(kTogether, atoms.m),
          directions_(kTogether * n_most_, atoms.m), triangles_(kTogether, n_most_ * (n_most_ + 1) / 2), weights_(kTogether, n_most_),
          coefficients_(kTogether, n_most_), beyond_(kTogether * n_most_, gram == nullptr ? 0 : atoms.m), sums_(kTogether * n_most_, gram == nullptr ? 0 : n_most_),
          rest_(kTogether, atoms.m), parts_(n_most_), places_(kTogether * atoms.m), slots_(kTogether * n_most_) {}

    template <class Sink>
    void run(const Rows<T>& rows, Stop stop, Sink& sink) {
        for (std::size_t first = 0; first < rows.n && !stop.raised(); first += kTogether) {
            const std::size_t n = rows.n - first < kTogether ? rows.n - first : kTogether;
            n_busy_ = 0;
            for (std::size_t i = 0; i < n; i++)
                if (begin(i, rows.data + (first + i) * atoms_.m, rows.mask + (first + i) * atoms_.m)) busy_[n_busy_++] = i;
            over_tiles<true>();
            while (n_busy_ > 0) {
                std::size_t n_left = 0;
                for (std::size_t k = 0; k < n_busy_; k++)
                    if (choose(busy_[k])) busy_[n_left++] = busy_[k];
                n_busy_ = n_left;
                over_tiles<false>();
            }
            for (std::size_t i = 0; i < n; i++) {
                back_substitute(i);
                sink.add(patches_[i].n_chosen, slots_.data() + i * n_most_, coefficients_.row(i));
            }
        }
    }

   private:
    struct Patch {
        std::size_t n_known, n_chosen;
        T energy, bound, weight;
        BestByLane<T> best;
        const T* newest;  // what the atoms are multiplied by next: the patch itself, then each new direction
        bool well, by_gram;  // whether directions are kept as sums of atoms, too; whether the Gram matrix makes the next products
    };

    // Takes the known pixels of a patch; false if it needs no atoms.
    bool begin(std::size_t i, const T* row, const std::uint8_t* mask) {
        Patch& patch = patches_[i];
        patch = Patch{};
        T* values = rows_.row(i);
        std::int32_t* places = places_.data() + i * atoms_.m;
        // Known pixels from the front, unknown ones from the back. Masks cannot be guessed, so there is no branch.
        std::size_t n_known = 0, back = atoms_.m;
        for (std::size_t k = 0; k < atoms_.m; k++) {
            const std::size_t is_known = mask[k] != 0;
            values[n_known] = row[k];
            places[is_known ? n_known : back - 1] = std::int32_t(k);
            n_known += is_known;
            back -= 1 - is_known;
        }
        patch.n_known = n_known;
        std::memset(static_cast<void*>(values + n_known), 0, (rows_.stride - n_known) * sizeof(T));
        patch.energy = dot(values, values, rows_.stride);
        patch.bound = residual_ * (T(patch.n_known) / T(atoms_.m));
        patch.newest = values;
        patch.well = gram_ != nullptr && 3 * (atoms_.m - n_known) < n_known;  // few are unknown
        return patch.n_known > 0 && patch.energy > patch.bound;
    }

    // Adds the best atom to the code; false if the code is complete.
    bool choose(std::size_t i) {
        Patch& patch = patches_[i];
        const std::int64_t found = patch.best.slot();
        if (found < 0) return false;
        const std::size_t slot = std::size_t(found), n = patch.n_chosen;
        T* fresh = directions_.row(i * n_most_ + n);
        T* across = triangles_.row(i) + n * (n + 1) / 2;
        const T* atom = atoms_.unit.data() + slot * atoms_.m;
        const std::int32_t* places = places_.data() + i * atoms_.m;
        const T norm = std::sqrt(norms_.row(i)[slot]), longer = 1 / norm;
        const std::size_t wide = round_up(patch.n_known, kLanes<T>);
        for (std::size_t k = 0; k < patch.n_known; k++) fresh[k] = atom[places[k]] * longer;
        for (std::size_t k = patch.n_known; k < wide; k++) fresh[k] = 0;
        for (std::size_t k = 0; k < n; k++) across[k] = 0;
        T pivot = 1;
        for (int turn = 0; turn < 2 && (turn == 0 || pivot < T(0.25)); turn++) {  // once more takes off what rounding left
            for (std::size_t k = 0; k < n; k++) parts_[k] = dot(directions_.row(i * n_most_ + k), fresh, wide);
            for (std::size_t k = 0; k < n; k++) {
                across[k] += parts_[k];
                add_scaled(-parts_[k], directions_.row(i * n_most_ + k), fresh, wide);
            }
            pivot = dot(fresh, fresh, wide);
        }
        if (!(pivot > kDependent<T>)) return false;
        const T inverse = T(1) / std::sqrt(pivot);
        for (std::size_t k = 0; k < patch.n_known; k++) fresh[k] *= inverse;
        patch.well = patch.well && pivot > T(kWellPosed);
        patch.by_gram = patch.well && atoms_.m - patch.n_known + n + 1 + kGramCosts < patch.n_known;
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
        const std::int32_t* unknown = places_.data() + i * atoms_.m + patch.n_known;
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

    template <bool First>
    void over_tiles() {
        constexpr std::size_t lanes = kLanes<T>;
        const std::size_t n_tiles = atoms_.padded / (2 * lanes);
        std::size_t t = 0;
        constexpr int many = First ? kTilesWithNorms : kTilesAtOnce;
        for (; t + many <= n_tiles; t += many)
            for (std::size_t k = 0; k < n_busy_; k++) pass<many, First>(busy_[k], 2 * t * lanes);
        for (; t < n_tiles; t++)
            for (std::size_t k = 0; k < n_busy_; k++) pass<1, First>(busy_[k], 2 * t * lanes);
    }

    // The atoms of G tiles: correlations with the patch, what is left of the atoms' norms, and the best atom among them.
    template <int G, bool First>
    void pass(std::size_t i, std::size_t slot) {
        constexpr std::size_t lanes = kLanes<T>;
        Patch& patch = patches_[i];
        T *correlations = correlations_.row(i) + slot, *norms = norms_.row(i) + slot;
        T* left = LeastSquares ? left_.row(i) + slot : norms;
        const KnownPixels<T> row{patch.newest, places_.data() + i * atoms_.m, patch.n_known};
        const Vec<T> weight = splat(patch.weight);
        BestByLane<T> best = patch.best;
        const T* tile = atoms_.packed.data() + slot * atoms_.m;
        const std::size_t n_unknown = atoms_.m - patch.n_known;
        const std::int32_t* unknown = row.places + patch.n_known;
        const auto take = [&](std::size_t v, Vec<T> product, Vec<T> norm) {
            const std::size_t at = v * lanes;
            Vec<T> c, rest;
            if (First) {
                c = product;
                rest = norm;
                store(norms + at, norm);
            } else {
                c = fnma(weight, product, load(correlations + at));
                rest = load(left + at);
                if (LeastSquares) rest = fnma(product, product, rest);
            }
            store(correlations + at, c);
            if (First || LeastSquares) store(left + at, rest);
            // Atoms without known pixels and atoms in the span of the others explain nothing.
            const Vec<T> of = First ? norm : load(norms + at);
            best.offer(c, rest, (of > splat(kDependent<T>)) & (rest > splat(kDependent<T>) * of), slot + at);
        };
        if (First && 2 * n_unknown < patch.n_known) {  // unit atoms: their norms are 1 less what they have at unknown pixels
            Vec<T> found[2 * G];
            norms_without<G>(tile, atoms_.m, unknown, n_unknown, [&](std::size_t v, Vec<T> norm) { found[v] = norm; });
            sum_known<G, false>(tile, atoms_.m, row, [&](std::size_t v, Vec<T> product, Vec<T>) { take(v, product, found[v]); });
        } else if (!First && patch.by_gram) {
            const GramSum<T> sum{gram_, atoms_.padded, slots_.data() + i * n_most_, sums_.row(i * n_most_ + patch.n_chosen - 1), patch.n_chosen};
            sum_by_gram<G>(tile, atoms_.m, sum, {rest_.row(i), unknown, n_unknown}, slot, take);
        } else {
            sum_known<G, First>(tile, atoms_.m, row, take);
        }
        patch.best = best;
    }

    void back_substitute(std::size_t i) {
        const T *triangle = triangles_.row(i), *weights = weights_.row(i);
        T* values = coefficients_.row(i);
        for (std::size_t k = patches_[i].n_chosen; k-- > 0;) {
            T value = weights[k];
            for (std::size_t l = k + 1; l < patches_[i].n_chosen; l++) value -= triangle[l * (l + 1) / 2 + k] * values[l];
            values[k] = value * triangle[k * (k + 1) / 2 + k];
        }
    }

    static constexpr double kWellPosed = 1e-2;     // squared norm of a new direction: below it, sums of atoms cancel
    static constexpr std::size_t kGramCosts = 2;   // pixels whose products take as long as the beginning of a sum by the Gram matrix
    static constexpr std::size_t kTogether = 16;  // patches, whose correlations stay in the second-level cache

    const Atoms<T>& atoms_;
    const T* gram_;
    T residual_;
    std::size_t n_most_, n_busy_ = 0;
    std::size_t busy_[kTogether];
    Patch patches_[kTogether];
    Matrix<T> correlations_, norms_, left_, rows_, directions_, triangles_, weights_, coefficients_;
    Matrix<T> beyond_, sums_, rest_;  // directions at unknown pixels, as sums of atoms, and the newest one, negated, at unknown pixels
    Buffer<T> parts_;
    Buffer<std::int32_t> places_, slots_;
};

}  // namespace epitomes::EPITOMES_ISA
