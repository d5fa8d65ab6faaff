// Groups of similar patches, filtered in a transform along patches and members (collaborative filtering, BM3D).
#pragma once

#include "members.hpp"

namespace epitomes::EPITOMES_ISA {

// A group is a matrix of pixels by members. Its rows are combined to transform patches, the values within a row to
// transform members; both are sums of rows times numbers, along whole vectors.
class GroupTransform : private GroupLoop<float> {
   public:
    GroupTransform(const Groups& groups, const Transform& transform)
        : GroupLoop(groups), t_(transform), most_(power_within(std::min(groups.n_matches, transform.most))), between_(groups.m, groups.n_matches),
          guide_(groups.m, groups.n_matches), along_(2 * most_ - 1, most_), along_back_(2 * most_ - 1, most_) {
        for (std::size_t n = 1; n <= most_; n *= 2) {
            const float* matrix = t_.along + (n * n - 1) / 3;
            for (std::size_t i = 0; i < n; i++)
                for (std::size_t j = 0; j < n; j++) {
                    along_.row(n - 1 + j)[i] = matrix[i * n + j];
                    along_back_.row(n - 1 + i)[j] = matrix[i * n + j];
                }
        }
    }

    void run(Stop stop, float* total, float* weight) {
        each(stop, total, weight, [this](const std::int32_t* places, float level) { return estimate(places, level); });
    }

   private:
    Estimates estimate(const std::int32_t* places, float level) {
        n_ = std::min(power_within(n_), most_);
        wide_ = round_up(n_, kLanes<float>);
        transform(pixels_);
        float kept;
        if (t_.wiener) {
            gather(g_.guide, places, guide_);
            transform(guide_);
            kept = filter(level * level);
        } else {
            kept = cut(float(t_.threshold) * level);
        }
        along_members(along_back_, pixels_, between_);
        along_patches(t_.down_back, t_.across_back, between_, pixels_);
        return {between_, 1 / kept, t_.window};
    }

    static std::size_t power_within(std::size_t n) {
        std::size_t power = 1;
        while (2 * power <= n) power *= 2;
        return power;
    }

    void transform(Matrix<float>& group) {
        along_patches(t_.down, t_.across, group, between_);
        along_members(along_, group, between_);
        std::swap(group.data, between_.data);
    }
    // Along the columns of each patch, then along its rows. The rows of the group that one line of a patch holds follow each
    // other, so a line is one long row. `other` is used on the way.
    void along_patches(const float* down, const float* across, Matrix<float>& group, Matrix<float>& other) const {
        const std::size_t line = t_.width * group.stride;
        for (std::size_t first = 0; first < g_.m; first += t_.height * t_.width) {
            for (std::size_t a = 0; a < t_.height; a++)
                combine(down + a * t_.height, 1, RowsView<float>{group.row(first), line}, {0, t_.height}, {0, line}, other.row(first + a * t_.width));
            for (std::size_t y = first; y < first + t_.height * t_.width; y += t_.width)
                for (std::size_t b = 0; b < t_.width; b++)
                    combine(across + b * t_.width, 1, RowsView<float>{other.row(y), other.stride}, {0, t_.width}, {0, wide_}, group.row(y + b));
        }
    }
    void along_members(const Matrix<float>& matrices, const Matrix<float>& group, Matrix<float>& out) const {
        const RowsView<float> matrix{matrices.row(n_ - 1), matrices.stride};
        for (std::size_t k = 0; k < g_.m; k++) combine(group.row(k), 1, matrix, {0, n_}, {0, wide_}, out.row(k));
    }

    // Sets small coefficients to zero, but not the mean of the group; returns how many are left.
    float cut(float threshold) {
        std::size_t left = 0;
        const Vec<float> least = splat(threshold);
        for (std::size_t k = 0; k < g_.m; k++) {
            float* row = pixels_.row(k);
            const float first = row[0];
            for (std::size_t j = 0; j < wide_; j += kLanes<float>) {
                const Vec<float> c = load(row + j);
                const auto large = absolute(c) > least;
                left += std::size_t(__builtin_popcount(above(absolute(c), least)));
                store(row + j, Vec<float>(Ints<float>(c) & Ints<float>(large)));
            }
            if (is_mean(k) && row[0] != first) {
                row[0] = first;
                left++;
            }
        }
        return float(std::max<std::size_t>(left, 1));
    }
    // Multiplies coefficients by g^2 / (g^2 + variance), but not the mean of the group; returns the sum of their squares.
    float filter(float variance) {
        double energy = 0;
        const Vec<float> noise = splat(std::max(variance, 1e-30f));
        for (std::size_t k = 0; k < g_.m; k++) {
            float *row = pixels_.row(k), *guide = guide_.row(k);
            const float first = row[0];
            Vec<float> squares{};
            for (std::size_t j = 0; j < wide_; j += kLanes<float>) {
                const Vec<float> g = load(guide + j), power = g * g, factor = power / (power + noise);
                squares = fma(factor, factor, squares);
                store(row + j, factor * load(row + j));
            }
            energy += double(lane_sum<float>(squares));
            if (is_mean(k)) {
                const float power = guide[0] * guide[0], factor = power / (power + noise[0]);
                energy += 1 - double(factor) * double(factor);
                row[0] = first;
            }
        }
        return float(energy);
    }
    bool is_mean(std::size_t k) const { return k % (t_.height * t_.width) == 0; }

    Transform t_;
    std::size_t most_;
    Matrix<float> between_, guide_, along_, along_back_;
};

inline void transform_groups(const Groups& groups, const Transform& transform, Stop stop, float* total, float* weight) {
    GroupTransform(groups, transform).run(stop, total, weight);
}

}  // namespace epitomes::EPITOMES_ISA
