// Groups of similar patches are estimated together: the same few atoms for all members, then fewer directions yet.
// A group's members are the columns of a matrix; its rows are pixels, or codes.
#pragma once

#include "voters.hpp"

namespace epitomes::EPITOMES_ISA {

class GroupCoder : private GroupLoop<float> {
   public:
    GroupCoder(const Groups& groups, const Shrinkage& shrinkage)
        : GroupLoop(groups), s_(shrinkage), most_(std::max(groups.m, shrinkage.n_base + shrinkage.most_atoms)), voters_(groups, shrinkage),
          basis_(most_ + 1, groups.m), codes_(most_, groups.n_matches), kept_(most_, groups.n_matches),
          means_(most_), along_(most_), direction_(std::max(groups.n_matches, most_) + 2 * kLanes<float>),
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
                dots(v, codes.row(0), codes.stride, size, wide_, along_.data());
                for (std::size_t b = 0; b < size; b++) add_scaled(part * along_[b], v, kept_.row(b), wide_);
            }
        }
        return rank;
    }
    void products(const Matrix<float>& codes, std::size_t size) {
        const std::size_t stride = eigen_.stride();
        for (std::size_t a = 0; a < size; a++) {
            dots(codes.row(a), codes.row(0), codes.stride, a + 1, wide_, gram_.data() + a * stride);
            for (std::size_t b = 0; b < a; b++) gram_[b * stride + a] = gram_[a * stride + b];
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
    Buffer<float> means_, along_, direction_;
    Eigen<float> eigen_;
    Buffer<float> gram_;
};

inline void shrink_groups(const Groups& groups, const Shrinkage& shrinkage, Stop stop, float* total, float* weight) {
    GroupCoder(groups, shrinkage).run(stop, total, weight);
}

}  // namespace epitomes::EPITOMES_ISA
