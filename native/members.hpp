// What all estimators of groups share: members are gathered from the image, and their estimates are put back.
#pragma once

#include <algorithm>
#include <limits>

#include "engine.hpp"
#include "matrix.hpp"

namespace epitomes::EPITOMES_ISA {

// Copies one patch into a row.
template <class T>
inline void copy_patch(const Groups& groups, const float* patch, T* row) {
    for (std::size_t k = 0; k < groups.m; k++) row[k] = T(patch[groups.offsets[k]]);
}

// Works on one group after another. A group's members are the columns of a matrix; its rows are pixels.
template <class T>
class GroupLoop {
   protected:
    // A pixel of a member weighs `weight`, times the entry of its place in the patch and of the member where these are given.
    struct Estimates {
        const Matrix<T>& pixels;
        float weight;
        const float* by_pixel = nullptr;   // [m]
        const float* by_member = nullptr;  // [n]
    };

    explicit GroupLoop(const Groups& groups) : g_(groups), pixels_(groups.m, groups.n_matches) {}

    // Adds what `estimate` makes of the members at some places, with noise of some level, to `total`, and their weights to
    // `weight`. It finds the members in `pixels_`.
    template <class Estimate>
    void each(Stop stop, float* total, float* weight, Estimate estimate) {
        find_range();
        for (std::size_t i = 0; i < g_.n && !stop.raised(); i++) {
            const std::int32_t* places = g_.places + i * g_.n_matches;
            n_ = std::size_t(g_.counts[i]);
            wide_ = round_up(n_, kLanes<T>);
            gather(g_.noisy, places, pixels_);
            const Estimates found = estimate(places, g_.levels[i]);
            if (found.by_pixel == nullptr && found.by_member == nullptr)
                scatter_even(places, found, total);
            else
                scatter(places, found, total, weight);
        }
        spread_weights(weight);
    }

    // Takes the mean off each of the first `size` rows.
    void centre(Matrix<T>& rows, std::size_t size, T* means) const {
        for (std::size_t a = 0; a < size; a++) {
            T* row = rows.row(a);
            Vec<T> sums{};
            for (std::size_t j = 0; j < wide_; j += kLanes<T>) sums += load(row + j);
            means[a] = lane_sum<T>(sums) / T(n_);
            for (std::size_t j = 0; j < n_; j++) row[j] -= means[a];
        }
    }

    // The members as they are in some image.
    void gather(const float* image, const std::int32_t* places, Matrix<T>& pixels) const {
        for (std::size_t k = 0; k < g_.m; k++) {
            T* row = pixels.row(k);
            const float* from = image + g_.offsets[k];
            for (std::size_t j = 0; j < n_; j++) row[j] = T(from[places[j]]);
            for (std::size_t j = n_; j < wide_; j++) row[j] = 0;
        }
    }

    Groups g_;
    std::size_t n_ = 0, wide_ = 0;  // members of the group, and the same in whole vectors
    Matrix<T> pixels_;
    std::int32_t lowest_ = 0;  // of all places
    Buffer<float> by_place_;

   private:
    void find_range() {
        std::int32_t most = 0;
        lowest_ = std::numeric_limits<std::int32_t>::max();
        for (std::size_t i = 0; i < g_.n; i++)
            for (std::size_t j = 0; j < std::size_t(g_.counts[i]); j++) {
                lowest_ = std::min(lowest_, g_.places[i * g_.n_matches + j]);
                most = std::max(most, g_.places[i * g_.n_matches + j]);
            }
        if (g_.n > 0) by_place_ = Buffer<float>(std::size_t(most - lowest_) + 1);
    }
    // Members that weigh the same in all their pixels: weights are summed by place, and spread over the pixels in the end.
    void scatter_even(const std::int32_t* places, const Estimates& found, float* total) {
        for (std::size_t j = 0; j < n_; j++) by_place_[std::size_t(places[j] - lowest_)] += found.weight;
        for (std::size_t k = 0; k < g_.m; k++) {
            const T* row = found.pixels.row(k);
            float* sums = total + (g_.sum_offsets[k] - g_.shift);
            for (std::size_t j = 0; j < n_; j++) sums[places[j]] += found.weight * float(row[j]);
        }
    }
    void spread_weights(float* weight) const {
        const std::size_t size = by_place_.size(), whole = size / kLanes<float> * kLanes<float>;
        for (std::size_t k = 0; k < g_.m && size > 0; k++) {
            float* at = weight + (g_.sum_offsets[k] - g_.shift + lowest_);
            for (std::size_t i = 0; i < whole; i += kLanes<float>) store(at + i, load(at + i) + load(by_place_.data() + i));
            for (std::size_t i = whole; i < size; i++) at[i] += by_place_[i];
        }
    }
    void scatter(const std::int32_t* places, const Estimates& found, float* total, float* weight) const {
        for (std::size_t k = 0; k < g_.m; k++) {
            const T* row = found.pixels.row(k);
            float* sums = total + (g_.sum_offsets[k] - g_.shift);
            float* weights = weight + (g_.sum_offsets[k] - g_.shift);
            const float here = found.by_pixel == nullptr ? found.weight : found.weight * found.by_pixel[k];
            for (std::size_t j = 0; j < n_; j++) {
                const float by = found.by_member == nullptr ? here : here * found.by_member[j];
                sums[places[j]] += by * float(row[j]);
                weights[places[j]] += by;
            }
        }
    }
};

}  // namespace epitomes::EPITOMES_ISA
