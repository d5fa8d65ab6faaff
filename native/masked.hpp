// Pursuits of patches with unknown pixels. Each patch has a dictionary of its own, the atoms cut by its mask, so there is
// no Gram matrix to share. By one of two routes, atoms are multiplied by the newest direction.
// By pixels: directions are kept as pixels, and a sum over the known ones is the only long one of a step. Some patches go
// step by step together, and another takes the place of one that is finished: a few tiles of atoms are read from the
// nearest cache by all of them.
// By the Gram matrix of whole atoms, where few pixels are unknown: a row of it, less products at unknown pixels and with
// earlier directions. These patches begin together, because their first products are a product of matrices; then each is coded alone.
// What a patch computes does not depend on who goes with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "best.hpp"
#include "matrix.hpp"
#include "pursuit.hpp"

namespace epitomes::EPITOMES_ISA {

template <class T, bool LeastSquares>
class MaskedPursuit {
   public:
    // `gram` are the rows of the Gram matrix of whole atoms, or null.
    MaskedPursuit(const Atoms<T>& atoms, const Pursuit& pursuit, const T* gram)
        : atoms_(atoms), gram_(gram), residual_(T(pursuit.residual)), n_most_(pursuit.n_nonzero),
          n_most_by_gram_(gram == nullptr ? 0 : n_most_ < kMostByGram ? n_most_ : kMostByGram), correlations_(kTogether, atoms.padded),
          left_(kTogether, atoms.padded), rows_(kTogether, atoms.m), masks_(kTogether, atoms.m), directions_(kTogether * n_most_, atoms.m),
          products_(n_most_by_gram_, atoms.padded, Filled::nothing), triangles_(kTogether, n_most_ * (n_most_ + 1) / 2),
          weights_(kTogether, n_most_), parts_(n_most_), places_(kTogether * 2 * (atoms.m + 1)), slots_(kTogether * n_most_) {}

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
        const T* newest;  // by pixels: what the atoms are multiplied by next, the patch itself and then each new direction
        bool most, by_gram;  // whether most pixels are known; whether the Gram matrix makes the next products
    };
    enum class Step { first, first_of_most, next, next_by_gram };

    // Codes rows in the order in which they are finished.
    void run_some(const Rows<T>& rows) {
        std::uint16_t order[kInOrder];
        std::size_t n_of_most = 0, n_others = 0;
        for (std::size_t k = 0; k < rows.n; k++) {
            std::size_t n_known = 0;
            for (std::size_t x = 0; x < atoms_.m; x++) n_known += rows.mask[k * atoms_.m + x] != 0;
            codes_[k] = Code{};
            order[3 * (atoms_.m - n_known) < n_known ? n_of_most++ : rows.n - ++n_others] = std::uint16_t(k);
        }
        run_these(rows, order, n_of_most, true);
        run_these(rows, order + n_of_most, n_others, false);
    }

    // Rows of which most pixels are known begin together; of others, the next one begins as soon as there is a place for it.
    void run_these(const Rows<T>& rows, const std::uint16_t* order, std::size_t n, bool most) {
        std::size_t places[kTogether], n_busy = 0, next = 0;
        for (std::size_t i = 0; i < kTogether; i++) places[i] = i;  // busy ones first
        while (n_busy > 0 || next < n) {
            const bool together = most && n_busy == 0;
            if (together) std::sort(places, places + kTogether);
            if (together || !most)
                for (; n_busy < kTogether && next < n; next++) n_busy += std::size_t(begin(places[n_busy], order[next], rows, most));
            over_tiles(places, n_busy, together);
            for (std::size_t k = n_busy; k-- > 0;)
                if (!go_on(places[k])) {
                    finish(places[k]);
                    std::swap(places[k], places[--n_busy]);
                }
        }
    }

    // Chooses the next atom; or atoms, as long as the Gram matrix makes the products. False if the code is complete.
    bool go_on(std::size_t i) {
        while (choose(i)) {
            if (!patches_[i].by_gram) return true;
            over_tiles(&i, 1, false);
        }
        return false;
    }

    // Takes the known pixels of a patch; false if it needs no atoms.
    bool begin(std::size_t i, std::size_t of, const Rows<T>& rows, bool most) {
        const T* row = rows.data + of * atoms_.m;
        const std::uint8_t* mask = rows.mask + of * atoms_.m;
        Patch& patch = patches_[i];
        patch = Patch{};
        patch.row = of;
        T *values = rows_.row(i), *ones = masks_.row(i);
        std::int32_t n = 0;
        for (std::size_t k = 0; k < atoms_.m; k++) {
            ones[k] = mask[k] != 0 ? T(1) : T(0);
            values[k] = mask[k] != 0 ? row[k] : T(0);
            n += mask[k] != 0;
        }
        patch.n_known = std::size_t(n);
        patch.energy = dot(values, values, rows_.stride);
        patch.bound = residual_ * (T(n) / T(atoms_.m));
        if (n == 0 || !(patch.energy > patch.bound)) return false;
        std::int32_t *known = known_of(i), *unknown = unknown_of(i);
        std::size_t n_known = 0;
        for (std::size_t k = 0; k < atoms_.m; k++) {  // masks cannot be guessed, so there is no branch
            known[n_known] = unknown[k - n_known] = std::int32_t(k);
            n_known += std::size_t(mask[k] != 0);
        }
        patch.newest = values;
        patch.most = most;
        patch.by_gram = most && gram_ != nullptr;
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
        if (patch.by_gram && !add_by_gram(i, slot)) {
            patch.by_gram = false;
            for (std::size_t k = 0; k < n; k++) add_by_pixels(i, k, std::size_t(slots_[i * n_most_ + k]));
        }
        if (!patch.by_gram && !add_by_pixels(i, n, slot)) return false;
        slots_[i * n_most_ + n] = std::int32_t(slot);
        patch.energy -= patch.weight * patch.weight;
        patch.best = BestByLane<T>();
        patch.n_chosen++;
        return patch.n_chosen < n_most_ && patch.energy > patch.bound;
    }

    // The direction that an atom adds, from its products with the others; false if they are not good enough.
    bool add_by_gram(std::size_t i, std::size_t slot) {
        Patch& patch = patches_[i];
        const std::size_t n = patch.n_chosen, n_unknown = atoms_.m - patch.n_known;
        if (n == n_most_by_gram_) return false;
        const T* atom = atoms_.unit.data() + slot * atoms_.m;
        const std::int32_t* unknown = unknown_of(i);
        T square = 1;
        for (std::size_t k = 0; k < n_unknown; k++) square -= atom[unknown[k]] * atom[unknown[k]];
        T *across = triangles_.row(i) + n * (n + 1) / 2, pivot = square;
        for (std::size_t k = 0; k < n; k++) {
            across[k] = products_.row(k)[slot];
            pivot -= across[k] * across[k];
        }
        if (!(pivot > T(kWellPosed) * square)) return false;
        across[n] = 1 / std::sqrt(pivot);
        weights_.row(i)[n] = patch.weight = correlations_.row(i)[slot] * across[n];
        return true;
    }

    // The same from its pixels; false if it is in the span of the others.
    bool add_by_pixels(std::size_t i, std::size_t n, std::size_t slot) {
        Patch& patch = patches_[i];
        T* fresh = directions_.row(i * n_most_ + n);
        T* across = triangles_.row(i) + n * (n + 1) / 2;
        const T *atom = atoms_.unit.data() + slot * atoms_.m, *ones = masks_.row(i);
        const std::size_t wide = directions_.stride;
        std::memcpy(fresh, atom, atoms_.m * sizeof(T));
        for (std::size_t x = 0; x < wide; x += kLanes<T>) store(fresh + x, load(fresh + x) * load(ones + x));
        const T norm = std::sqrt(dot(fresh, fresh, wide)), longer = 1 / norm;
        scale(fresh, longer, wide);
        const T pivot = take_off(fresh, directions_.row(i * n_most_), wide, n, across, parts_.data());
        if (!(pivot > kDependent<T>)) return false;
        const T inverse = T(1) / std::sqrt(pivot);
        scale(fresh, inverse, wide);
        across[n] = inverse * longer;
        for (std::size_t k = 0; k < n; k++) across[k] *= norm;
        weights_.row(i)[n] = patch.weight = dot(rows_.row(i), fresh, wide);
        patch.newest = fresh;
        return true;
    }

    // First products of patches that begin together, in the first places, are those of their rows with zeros at unknown pixels.
    void over_tiles(const std::size_t* places, std::size_t n, bool together) {
        constexpr std::size_t tile = 2 * kLanes<T>;
        const std::size_t n_tiles = atoms_.padded / tile;
        const T* rows[kTogether];
        for (std::size_t i = 0; i < kTogether; i++) rows[i] = rows_.row(i);
        for (std::size_t t = 0, end; t < n_tiles; t = end) {
            end = t + kTilesAtOnce <= n_tiles ? t + kTilesAtOnce : t + 1;
            for (std::size_t u = t; u < end && together; u++)
                correlate_tile(rows, n, atoms_.m, atoms_.packed.data() + u * tile * atoms_.m, correlations_.row(0) + u * tile, correlations_.stride);
            for (std::size_t k = 0; k < n; k++)
                end == t + 1 ? over_some_tiles<1, 1>(places[k], t) : over_some_tiles<kTilesAtOnce, kTilesWithNorms>(places[k], t);
        }
    }
    template <int G, int WithNorms>
    void over_some_tiles(std::size_t i, std::size_t t) {
        static_assert(G % WithNorms == 0);
        const Patch& patch = patches_[i];
        const std::size_t slot = 2 * t * kLanes<T>;
        if (patch.n_chosen > 0) return patch.by_gram ? pass<G, Step::next_by_gram>(i, slot) : pass<G, Step::next>(i, slot);
        if (patch.most) return pass<G, Step::first_of_most>(i, slot);
        for (std::size_t k = 0; k < G; k += WithNorms) pass<WithNorms, Step::first>(i, slot + 2 * k * kLanes<T>);
    }

    // The atoms of G tiles: correlations with the patch, what is left of the atoms' norms, and the best atom among them. Not
    // inlined: there would not be enough registers.
    template <int G, Step S>
    __attribute__((noinline)) void pass(std::size_t i, std::size_t slot) {
        constexpr std::size_t lanes = kLanes<T>;
        Patch& patch = patches_[i];
        T *correlations = correlations_.row(i) + slot, *left = left_.row(i) + slot;
        const T* tile = atoms_.packed.data() + slot * atoms_.m;
        const std::size_t n_unknown = atoms_.m - patch.n_known, n = patch.n_chosen;
        BestByLane<T> best = patch.best;
        const auto begin = [&](std::size_t v, Vec<T> c, Vec<T> norm) {
            const Vec<T> rest = usable(norm);
            store(left + v * lanes, rest);
            best.offer(c, rest, slot + v * lanes);
        };
        const Vec<T> weight = splat(patch.weight);
        const auto go_on = [&](std::size_t v, Vec<T> product) {
            const Vec<T> c = fnma(weight, product, load(correlations + v * lanes));
            Vec<T> rest = load(left + v * lanes);
            if (LeastSquares) store(left + v * lanes, rest = fnma(product, product, rest));
            store(correlations + v * lanes, c);
            best.offer(c, rest, slot + v * lanes);
        };
        if constexpr (S == Step::first_of_most) {
            norms_of_most<G>(tile, atoms_.m, unknown_of(i), n_unknown, [&](const Vec<T>* norms) {
#pragma GCC unroll 8
                for (std::size_t v = 0; v < 2 * G; v++) begin(v, load(correlations + v * lanes), norms[v]);
            });
        } else if constexpr (S == Step::next_by_gram) {
            const T *across = triangles_.row(i) + (n - 1) * n / 2, *base = products_.row(0);
            const std::size_t chosen = std::size_t(slots_[i * n_most_ + n - 1]);
            const GramRow<T> gram{gram_ + chosen * atoms_.padded, atoms_.unit.data() + chosen * atoms_.m, unknown_of(i), n_unknown,
                                  base, across, products_.stride, n - 1};
            T* fresh = products_.row(n - 1) + slot;
            const Vec<T> scale = splat(across[n - 1]);
            take_from_gram<G>(tile, atoms_.m, gram, slot, [&](const Vec<T>* sums) {
#pragma GCC unroll 8
                for (std::size_t v = 0; v < 2 * G; v++) {
                    const Vec<T> product = sums[v] * scale;
                    store(fresh + v * lanes, product);
                    go_on(v, product);
                }
            });
        } else {
            sum_known<G, S == Step::first>(tile, atoms_.m, KnownPixels<T>{patch.newest, known_of(i), patch.n_known}, [&](const Vec<T>* sums, const Vec<T>* norms) {
#pragma GCC unroll 8
                for (std::size_t v = 0; v < 2 * G; v++) {
                    if (S == Step::first) {
                        store(correlations + v * lanes, sums[v]);
                        begin(v, sums[v], norms[v]);
                    } else {
                        go_on(v, sums[v]);
                    }
                }
            });
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

    static constexpr double kWellPosed = 1e-2;     // share of an atom that is new: below it, differences of products cancel
    static constexpr std::size_t kMostByGram = 24; // atoms, whose products with all others stay in the second-level cache
    static constexpr std::size_t kTogether = 12;   // patches, whose correlations stay there too
    static constexpr std::size_t kInOrder = 256;   // patches, after which all are finished

    const Atoms<T>& atoms_;
    const T* gram_;
    T residual_;
    std::size_t n_most_, n_most_by_gram_;
    Patch patches_[kTogether];
    Code codes_[kInOrder];
    Matrix<T> correlations_, left_, rows_, masks_;
    Matrix<T> directions_, products_;  // as pixels, and their products with all atoms
    Matrix<T> triangles_, weights_;
    Buffer<T> parts_;
    Buffer<std::int32_t> places_, slots_;
    Growing<std::int32_t> found_;  // finished codes
    Growing<T> values_;
};

}  // namespace epitomes::EPITOMES_ISA
