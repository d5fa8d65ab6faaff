// Groups of similar patches are estimated together: the same few atoms for all members, then fewer directions yet.
// A group's members are the columns of a matrix; its rows are pixels, or codes.
#pragma once

#include "correlate.hpp"
#include "eigen.hpp"
#include "members.hpp"

namespace epitomes::EPITOMES_ISA {

// Simultaneous pursuit: one basis for all voters of a group, an atom at a time, each by the energy it takes from them.
class Voters {
   public:
    Voters(const Groups& groups, const Shrinkage& shrinkage)
        : g_(groups), s_(shrinkage), padded_(round_up(shrinkage.p, 2 * kLanes<float>)), long_(round_up(groups.m, kLanes<float>)),
          packed_(padded_ * groups.m), rows_(shrinkage.n_voters, groups.m), starts_(shrinkage.n_voters), correlations_(shrinkage.n_voters, padded_),
          alone_(padded_), gain_(padded_), share_(shrinkage.n_voters) {
        constexpr std::size_t tile = 2 * kLanes<float>;
        for (std::size_t j = 0; j < s_.p; j++)
            for (std::size_t k = 0; k < g_.m; k++) packed_[(j / tile * g_.m + k) * tile + j % tile] = s_.atoms[j * g_.m + k];
        for (std::size_t j = 0; j < s_.n_voters; j++) starts_[j] = rows_.row(j);
    }

    // Appends orthonormal rows to the base in `basis`; returns how many rows it has then, or 0 where they leave the voters
    // with more error than noise has, and than they may have: such a group is none of the dictionary's.
    std::size_t choose(const std::int32_t* places, std::size_t n, float level, Matrix<float>& basis) {
        double error = 0;
        const std::size_t size = search(places, n, level, basis, error);
        return error <= std::max(double(g_.m), s_.bound) * double(level) * double(level) * double(n) ? size : 0;
    }

   private:
    std::size_t search(const std::int32_t* places, std::size_t n, float level, Matrix<float>& basis, double& error) {
        error = take(places, n, basis);
        const double goal = s_.bound * double(level) * double(level) * double(n);
        std::size_t size = s_.n_base;
        if (error <= goal || s_.most_atoms == 0) return size;
        correlate(starts_.data(), n, correlations_.row(0), correlations_.stride);
        energies(n);
        for (;;) {
            float* q = basis.row(size);
            if (!extend(best(), size, basis)) return size;
            size++;
            for (std::size_t j = 0; j < n; j++) {
                share_[j] = dot(q, rows_.row(j), long_);
                error -= double(share_[j]) * double(share_[j]);
            }
            if (error <= goal || size == s_.n_base + s_.most_atoms || size == g_.m) return size;
            for (std::size_t j = 0; j < n; j++) add_scaled(-share_[j], q, rows_.row(j), long_);
            correlate(&q, 1, alone_.data(), padded_);
            update(n);
        }
    }
    // The voters less what the base explains, and their squared error.
    double take(const std::int32_t* places, std::size_t n, const Matrix<float>& basis) {
        double error = 0;
        for (std::size_t j = 0; j < n; j++) {
            float* row = rows_.row(j);
            copy_patch(g_, g_.guide + places[j], row);
            for (std::size_t k = g_.m; k < long_; k++) row[k] = 0;  // infinities of another group times zero are not zero
            for (std::size_t b = 0; b < s_.n_base; b++) add_scaled(-dot(basis.row(b), row, long_), basis.row(b), row, long_);
            error += double(dot(row, row, long_));
        }
        return error;
    }
    void correlate(const float* const* rows, std::size_t n, float* out, std::size_t stride) const {
        constexpr std::size_t tile = 2 * kLanes<float>;
        for (std::size_t t = 0; t < padded_ / tile; t++) {
            const float* d = packed_.data() + t * g_.m * tile;
            float* c = out + t * tile;
            std::size_t i = 0;
            for (; i + kRowsAtOnce <= n; i += kRowsAtOnce) micro<int(kRowsAtOnce)>(rows + i, g_.m, d, c + i * stride, stride);
            for (; i + 2 <= n; i += 2) micro<2>(rows + i, g_.m, d, c + i * stride, stride);
            for (; i < n; i++) micro<1>(rows + i, g_.m, d, c + i * stride, stride);
        }
    }
    void energies(std::size_t n) {
        for (std::size_t t = 0; t < padded_; t += kLanes<float>) {
            Vec<float> sums{};
            for (std::size_t j = 0; j < n; j++) {
                const Vec<float> c = load(correlations_.row(j) + t);
                sums = fma(c, c, sums);
            }
            store(gain_.data() + t, sums);
        }
    }
    // The same after the newest direction was taken off the voters.
    void update(std::size_t n) {
        for (std::size_t t = 0; t < padded_; t += kLanes<float>) {
            const Vec<float> of = load(alone_.data() + t);
            Vec<float> sums{};
            for (std::size_t j = 0; j < n; j++) {
                float* at = correlations_.row(j) + t;
                const Vec<float> c = fnma(splat(share_[j]), of, load(at));
                store(at, c);
                sums = fma(c, c, sums);
            }
            store(gain_.data() + t, sums);
        }
    }
    std::size_t best() const {
        Vec<float> most = splat(-1.0f);
        for (std::size_t t = 0; t < padded_; t += kLanes<float>) most = max(most, load(gain_.data() + t));
        const float top = lane_max<float>(most);
        std::size_t at = 0;
        while (at + 1 < s_.p && gain_[at] != top) at++;  // ends at the last atom where a value is not a number
        return at;
    }
    // The atom made orthonormal to the basis, as its next row; false where nothing is left of it.
    bool extend(std::size_t atom, std::size_t size, Matrix<float>& basis) const {
        float* q = basis.row(size);
        std::memcpy(q, s_.atoms + atom * g_.m, g_.m * sizeof(float));
        for (std::size_t b = 0; b < size; b++) add_scaled(-dot(basis.row(b), q, long_), basis.row(b), q, long_);
        const float energy = dot(q, q, long_);
        if (!(energy > kDependent)) return false;
        const Vec<float> scale = splat(1 / std::sqrt(energy));
        for (std::size_t k = 0; k < long_; k += kLanes<float>) store(q + k, load(q + k) * scale);
        return true;
    }

    static constexpr float kDependent = 1e-5f;

    Groups g_;
    Shrinkage s_;
    std::size_t padded_, long_;
    Buffer<float> packed_;
    Matrix<float> rows_;
    Buffer<const float*> starts_;
    Matrix<float> correlations_;
    Buffer<float> alone_, gain_, share_;
};

class GroupCoder : private GroupLoop<float> {
   public:
    GroupCoder(const Groups& groups, const Shrinkage& shrinkage)
        : GroupLoop(groups), s_(shrinkage), most_(std::max(groups.m, shrinkage.n_base + shrinkage.most_atoms)), voters_(groups, shrinkage),
          basis_(most_ + 1, groups.m), codes_(most_, groups.n_matches), kept_(most_, groups.n_matches),
          means_(most_), direction_(std::max(groups.n_matches, most_) + 2 * kLanes<float>),
          eigen_(std::min(groups.n_matches, most_)), gram_(eigen_.stride() * eigen_.stride()) {
        for (std::size_t b = 0; b < s_.n_base; b++) std::memcpy(basis_.row(b), s_.base + b * g_.m, g_.m * sizeof(float));
    }

    void run(Stop stop, float* total, float* weight) {
        each(stop, total, weight, [this](const std::int32_t* places, float level) { return estimate(places, level); });
    }

   private:
    Estimates estimate(const std::int32_t* places, float level) {
        const std::size_t chosen = s_.p == 0 ? 0 : project(places, level);
        const std::size_t size = chosen > 0 ? chosen : g_.m;
        Matrix<float>& codes = chosen > 0 ? codes_ : pixels_;
        centre(codes, size, means_.data());
        const std::size_t rank = shrink(codes, size, level);
        if (chosen > 0)
            for (std::size_t k = 0; k < g_.m; k++) combine(basis_.row(0) + k, basis_.stride, kept_, {0, size}, {0, wide_}, pixels_.row(k));
        return {chosen > 0 ? pixels_ : kept_, s_.by_rank ? 1 / float(1 + rank) : 1.0f};
    }

    std::size_t project(const std::int32_t* places, float level) {
        const std::size_t size = voters_.choose(places, std::min(n_, s_.n_voters), level, basis_);
        for (std::size_t a = 0; a < size; a++) combine(basis_.row(a), 1, pixels_, {0, g_.m}, {0, wide_}, codes_.row(a));
        return size;
    }

    // kept = means + codes with their singular values shrunk; returns how many are left. They are the roots of the
    // eigenvalues of the smaller of codes codes' and codes' codes.
    std::size_t shrink(const Matrix<float>& codes, std::size_t size, float level) {
        for (std::size_t a = 0; a < size; a++) std::fill_n(kept_.row(a), wide_, means_[a]);
        const bool among_codes = size <= n_;
        const std::size_t order = among_codes ? size : n_;
        if (among_codes)
            products(codes, size);
        else
            member_products(codes, size);
        const float cut = noise_energy(size, level);
        const std::size_t found = eigen_.run(gram_.data(), order, cut);
        std::size_t rank = 0;
        for (std::size_t a = 0; a < found; a++) {
            const float part = part_kept(eigen_.values()[a], cut);
            if (!(part > 0)) continue;
            rank++;
            const float* v = eigen_.vector(a);
            if (among_codes) {
                combine(v, 1, codes, {0, size}, {0, wide_}, direction_.data());
                for (std::size_t b = 0; b < size; b++) add_scaled(part * v[b], direction_.data(), kept_.row(b), wide_);
            } else {
                for (std::size_t b = 0; b < size; b++) add_scaled(part * dot(codes.row(b), v, wide_), v, kept_.row(b), wide_);
            }
        }
        return rank;
    }
    void products(const Matrix<float>& codes, std::size_t size) {
        const std::size_t stride = eigen_.stride();
        for (std::size_t a = 0; a < size; a++) {
            for (std::size_t b = 0; b <= a; b++) gram_[a * stride + b] = gram_[b * stride + a] = dot(codes.row(a), codes.row(b), wide_);
            for (std::size_t b = size; b < stride; b++) gram_[a * stride + b] = 0;
        }
    }
    void member_products(const Matrix<float>& codes, std::size_t size) {
        const std::size_t stride = eigen_.stride();
        for (std::size_t j = 0; j < n_; j++) {
            float* row = gram_.data() + j * stride;
            combine(codes.row(0) + j, codes.stride, codes, {0, size}, {0, wide_}, row);
            for (std::size_t b = wide_; b < stride; b++) row[b] = 0;
        }
    }
    // How much of a direction is kept, from its energy: the weighted nuclear norm's rule (Gu and others, 2014),
    // x = (y + sqrt(y^2 - 4 C)) / 2 with 4 C = (8 strength sqrt(n) + edge (sqrt(size) + sqrt(n))^2) level^2, and nothing
    // where y^2 < 4 C. The edge is where the singular values of noise end.
    float noise_energy(std::size_t size, float level) const {
        const float root = std::sqrt(float(n_)), most = std::sqrt(float(size)) + root;
        return (8 * float(s_.strength) * root + float(s_.edge) * most * most) * level * level;
    }
    static float part_kept(float energy, float cut) {
        const float left = energy - cut;
        return left > 0 ? (1 + std::sqrt(left / energy)) / 2 : 0.0f;
    }

    Shrinkage s_;
    std::size_t most_;
    Voters voters_;
    Matrix<float> basis_, codes_, kept_;
    Buffer<float> means_, direction_;
    Eigen<float> eigen_;
    Buffer<float> gram_;
};

inline void shrink_groups(const Groups& groups, const Shrinkage& shrinkage, Stop stop, float* total, float* weight) {
    GroupCoder(groups, shrinkage).run(stop, total, weight);
}

}  // namespace epitomes::EPITOMES_ISA
