// Simultaneous pursuit: one basis for all voters of a group, an atom at a time, each by the energy it takes from them.
// Voters that are alike are replaced by the few directions that hold their energy: an atom takes as much from these. As in
// `pursuit.hpp`, the products of all atoms with a new direction are made from a row of the Gram matrix and those with the
// directions before, instead of from the atoms.
#pragma once

#include "correlate.hpp"
#include "eigen.hpp"
#include "members.hpp"

namespace epitomes::EPITOMES_ISA {

class Voters {
   public:
    Voters(const Groups& groups, const Shrinkage& shrinkage)
        : g_(groups), s_(shrinkage), padded_(round_up(shrinkage.p, kTile)), long_(round_up(groups.m, kLanes<float>)),
          packed_(padded_ * groups.m), rows_(shrinkage.n_voters, groups.m), main_(shrinkage.n_voters, groups.m), starts_(shrinkage.n_voters),
          correlations_(shrinkage.n_voters * padded_), gram_(shrinkage.gram == nullptr ? shrinkage.p * padded_ : 0, Filled::nothing), has_row_(shrinkage.p),
          directions_(shrinkage.most_atoms, padded_), gain_(padded_), share_(shrinkage.n_voters),
          across_(shrinkage.n_base + shrinkage.most_atoms), parts_(shrinkage.n_base + shrinkage.most_atoms),
          eigen_(shrinkage.n_voters), products_(eigen_.stride() * eigen_.stride()) {
        pack(s_.atoms, s_.p, g_.m, packed_.data());
        for (std::size_t j = 0; j < s_.n_voters; j++) starts_[j] = main_.row(j);
    }

    // Appends orthonormal rows to the base in `basis`; returns how many rows it has then, or 0 where they leave the voters
    // with more error than noise has, and than they may have: such a group is none of the dictionary's.
    std::size_t choose(const std::int32_t* places, std::size_t n, float level, Matrix<float>& basis) {
        double error = 0;
        const std::size_t size = search(places, n, level, basis, error);
        return error <= std::max(double(g_.m), s_.bound) * double(level) * double(level) * double(n) ? size : 0;
    }

    // Products of all atoms (p, m) with each other, as rows (p, stride).
    static void products(const float* atoms, std::size_t p, std::size_t m, float* gram, std::size_t stride) {
        Buffer<float> packed(round_up(p, kTile) * m);
        Buffer<const float*> rows(p);
        pack(atoms, p, m, packed.data());
        for (std::size_t j = 0; j < p; j++) rows[j] = atoms + j * m;
        for (std::size_t t = 0; t < p; t += kTile) correlate_tile(rows.data(), p, m, packed.data() + t * m, gram + t, stride);
    }

   private:
    static void pack(const float* atoms, std::size_t p, std::size_t m, float* packed) {
        for (std::size_t j = 0; j < p; j++)
            for (std::size_t k = 0; k < m; k++) packed[(j / kTile * m + k) * kTile + j % kTile] = atoms[j * m + k];
    }
    std::size_t search(const std::int32_t* places, std::size_t n, float level, Matrix<float>& basis, double& error) {
        const bool alike = s_.bound < kNoisy * double(g_.m);  // with noise of their own they are not
        error = take(places, n, basis, alike ? rows_ : main_);
        const double each = s_.bound * double(level) * double(level), goal = each * double(n);
        if (error <= goal || s_.most_atoms == 0) return s_.n_base;
        if (alike) n = summarise(n, float(kNegligible * each));
        correlate(starts_.data(), n, correlations_.data(), s_.n_voters * kTile);
        energies(n);
        for (std::size_t found = 0;; found++) {
            const std::size_t size = s_.n_base + found, atom = best();
            float* q = basis.row(size);
            const float scale = extend(atom, size, basis);
            if (!(scale > 0)) return size;
            dots(q, main_.row(0), main_.stride, n, long_, share_.data());
            for (std::size_t j = 0; j < n; j++) error -= double(share_[j]) * double(share_[j]);
            if (error <= goal || found + 1 == s_.most_atoms || size + 1 == g_.m) return size + 1;
            for (std::size_t j = 0; j < n; j++) add_scaled(-share_[j], q, main_.row(j), long_);
            if (scale < kSteep)
                update(n, gram_row(atom), found, scale, directions_.row(found));
            else {  // what is left of the atom is small, and rounding in its products is not
                correlate(&q, 1, directions_.row(found), kTile);
                update(n, directions_.row(found), 0, 1.0f, directions_.row(found));
            }
        }
    }
    // The voters less what the base explains, and their squared error.
    double take(const std::int32_t* places, std::size_t n, const Matrix<float>& basis, Matrix<float>& rows) const {
        double error = 0;
        for (std::size_t j = 0; j < n; j++) {
            float* row = rows.row(j);
            copy_patch(g_, g_.guide + places[j], row);
            for (std::size_t k = g_.m; k < long_; k++) row[k] = 0;  // infinities of another group times zero are not zero
            for (std::size_t b = 0; b < s_.n_base; b++) add_scaled(-dot(basis.row(b), row, long_), basis.row(b), row, long_);
            error += double(dot(row, row, long_));
        }
        return error;
    }
    // Directions of the voters times their length, as rows of `main_`; those of less energy than `cut` are left out. Returns
    // how many there are.
    std::size_t summarise(std::size_t n, float cut) {
        for (std::size_t i = 0; i < n; i++) {
            float* row = products_.data() + i * eigen_.stride();
            dots(rows_.row(i), rows_.row(0), rows_.stride, i + 1, long_, row);
            for (std::size_t j = 0; j < i; j++) products_[j * eigen_.stride() + i] = row[j];
            for (std::size_t j = n; j < eigen_.stride(); j++) row[j] = 0;
        }
        const std::size_t found = eigen_.run(products_.data(), n, cut);
        std::size_t count = 0;
        for (std::size_t i = 0; i < found; i++)
            if (eigen_.values()[i] > cut) combine(eigen_.vector(i), 1, rows_, {0, n}, {0, long_}, main_.row(count++));
        return count;
    }
    // Products of rows with all atoms, tile by tile: those of a row lie together, and tiles `apart` values from each other.
    void correlate(const float* const* rows, std::size_t n, float* out, std::size_t apart) const {
        for (std::size_t t = 0; t < padded_ / kTile; t++) {
            const float* d = packed_.data() + t * g_.m * kTile;
            float* c = out + t * apart;
            std::size_t i = 0;
            for (; i + kRowsAtOnce <= n; i += kRowsAtOnce) micro<int(kRowsAtOnce)>(rows + i, g_.m, d, c + i * kTile, kTile);
            for (; i + 4 <= n; i += 4) micro<4>(rows + i, g_.m, d, c + i * kTile, kTile);
            for (; i + 2 <= n; i += 2) micro<2>(rows + i, g_.m, d, c + i * kTile, kTile);
            for (; i < n; i++) micro<1>(rows + i, g_.m, d, c + i * kTile, kTile);
        }
    }
    // Products of an atom with all of them: those that are given, or kept, because the groups of a line choose the same atoms
    // again and again.
    const float* gram_row(std::size_t atom) {
        if (s_.gram != nullptr) return s_.gram + atom * s_.gram_stride;
        float* row = gram_.data() + atom * padded_;
        if (!has_row_[atom]) {
            const float* d = s_.atoms + atom * g_.m;
            correlate(&d, 1, row, kTile);
            has_row_[atom] = 1;
        }
        return row;
    }
    void energies(std::size_t n) {
        Vec<float> most{};
        for (std::size_t t = 0; t < padded_; t += kTile) {
            const float* at = correlations_.data() + t * s_.n_voters;
            Vec<float> sums[2] = {};
            for (std::size_t j = 0; j < n; j++, at += kTile)
                for (std::size_t h = 0; h < 2; h++) {
                    const Vec<float> c = load(at + h * kLanes<float>);
                    sums[h] = fma(c, c, sums[h]);
                }
            most = max(most, max(sums[0], sums[1]));
            for (std::size_t h = 0; h < 2; h++) store(gain_.data() + t + h * kLanes<float>, sums[h]);
        }
        top_ = lane_max<float>(most);
    }
    // The same after the newest direction was taken off the voters: its products with the atoms are those of the chosen atom
    // less those of the directions that were taken off it, scaled.
    void update(std::size_t n, const float* row, std::size_t before, float scale, float* fresh) {
        Vec<float> most{};
        for (std::size_t t = 0; t < padded_; t += kTile) {
            Vec<float> of[2] = {load(row + t), load(row + t + kLanes<float>)}, sums[2] = {};
            const float* direction = directions_.row(0) + t;
            for (std::size_t b = 0; b < before; b++, direction += directions_.stride)
                for (std::size_t h = 0; h < 2; h++) of[h] = fnma(splat(across_[s_.n_base + b]), load(direction + h * kLanes<float>), of[h]);
            for (std::size_t h = 0; h < 2; h++) {
                of[h] = of[h] * splat(scale);
                store(fresh + t + h * kLanes<float>, of[h]);
            }
            float* at = correlations_.data() + t * s_.n_voters;
            for (std::size_t j = 0; j < n; j++, at += kTile)
                for (std::size_t h = 0; h < 2; h++) {
                    const Vec<float> c = fnma(splat(share_[j]), of[h], load(at + h * kLanes<float>));
                    store(at + h * kLanes<float>, c);
                    sums[h] = fma(c, c, sums[h]);
                }
            most = max(most, max(sums[0], sums[1]));
            for (std::size_t h = 0; h < 2; h++) store(gain_.data() + t + h * kLanes<float>, sums[h]);
        }
        top_ = lane_max<float>(most);
    }
    std::size_t best() const {
        const Vec<float> top = splat(top_);
        for (std::size_t t = 0; t < padded_; t += kLanes<float>)
            if (const unsigned there = ~above(top, load(gain_.data() + t)) & kAll) return std::min(t + std::size_t(__builtin_ctz(there)), s_.p - 1);
        return s_.p - 1;
    }
    // The atom made orthonormal to the basis, as its next row; returns the factor that made it unit, 0 where nothing was left.
    float extend(std::size_t atom, std::size_t size, Matrix<float>& basis) {
        float* q = basis.row(size);
        std::memcpy(q, s_.atoms + atom * g_.m, g_.m * sizeof(float));
        const float energy = take_off(q, basis.row(0), basis.stride, size, across_.data(), parts_.data());
        if (!(energy > kDependent)) return 0;
        const float scale = 1 / std::sqrt(energy);
        for (std::size_t k = 0; k < long_; k += kLanes<float>) store(q + k, load(q + k) * splat(scale));
        return scale;
    }

    static constexpr std::size_t kTile = 2 * kLanes<float>;
    static constexpr unsigned kAll = (1u << kLanes<float>) - 1;
    static constexpr float kDependent = 1e-5f, kSteep = 10.0f;
    static constexpr double kNoisy = 0.25;      // variances of the noise per pixel: voters that may err by more hold noise of their own
    static constexpr double kNegligible = 0.3;  // of the error at which the pursuit ends: all directions left out hold less

    Groups g_;
    Shrinkage s_;
    std::size_t padded_, long_;
    Buffer<float> packed_;
    Matrix<float> rows_, main_;
    Buffer<const float*> starts_;
    Buffer<float> correlations_;  // [tile][voter][kTile]: what an update touches lies together
    Buffer<float> gram_;
    Buffer<unsigned char> has_row_;
    Matrix<float> directions_;
    Buffer<float> gain_, share_, across_, parts_;
    float top_ = 0;  // the largest gain
    Eigen<float> eigen_;
    Buffer<float> products_;
};

inline void atom_products(const float* atoms, std::size_t p, std::size_t m, float* gram, std::size_t stride) {
    Voters::products(atoms, p, m, gram, stride);
}

}  // namespace epitomes::EPITOMES_ISA
