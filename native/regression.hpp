// Anchored regression: patches of an estimate are corrected by linear maps, each chosen by the nearest of some anchors.
#pragma once

#include <cmath>
#include <limits>

#include "engine.hpp"
#include "memory.hpp"

namespace epitomes::EPITOMES_ISA {

// Corrects one line of patches after another. A patch is turned first, so that it rises to the right and downwards, and most
// to the right: eight patches that differ by turns and flips have one anchor and one map.
class PatchRegression {
   public:
    explicit PatchRegression(const Regression& regression)
        : r_(regression), m_(r_.side * r_.side), blocks_(round_up(r_.n_anchors, kLanes<float>) / kLanes<float>), packed_(blocks_ * m_ * kLanes<float>),
          halves_(blocks_ * kLanes<float>), places_(8 * m_), offsets_(8 * m_), keys_(kAtOnce * m_), inputs_(kAtOnce * r_.n_inputs * m_),
          out_(r_.wide), upright_(m_) {
        pack_anchors();
        list_turns();
    }

    // Adds the corrections of all patches at `tops` to the rows from `first` to `last`.
    void run(const std::int64_t* tops, std::size_t n_tops, std::size_t first, std::size_t last, Stop stop, float* total) {
        for (std::size_t t = 0; t < n_tops && !stop.raised(); t++) {
            for (std::size_t i = 0; i < r_.n_lefts; i += kAtOnce) {
                const std::size_t n = r_.n_lefts - i < kAtOnce ? r_.n_lefts - i : kAtOnce;
                for (std::size_t j = 0; j < n; j++) turns_of_[j] = gather(std::size_t(tops[t]), std::size_t(r_.lefts[i + j]), j);
                choose();
                for (std::size_t j = 0; j < n; j++) {
                    correct(j);
                    add(std::size_t(tops[t]), std::size_t(r_.lefts[i + j]), turns_of_[j], first, last, total);
                }
            }
        }
    }

   private:
    static constexpr std::size_t kAtOnce = 8;  // patches that are compared with the anchors together
    static constexpr std::size_t kVectors = kRegressionStep / kLanes<float>;

    // Lanes are anchors. Those that fill up the last vector are never the nearest.
    void pack_anchors() {
        for (std::size_t a = 0; a < blocks_ * kLanes<float>; a++) {
            const std::size_t block = a / kLanes<float>, lane = a % kLanes<float>;
            float squares = 0;
            for (std::size_t k = 0; k < m_ && a < r_.n_anchors; k++) {
                const float value = r_.anchors[a * m_ + k];
                packed_[(block * m_ + k) * kLanes<float> + lane] = value;
                squares += value * value;
            }
            halves_[a] = a < r_.n_anchors ? squares / 2 : std::numeric_limits<float>::infinity();
        }
    }
    // For each turn, where the pixels of a turned patch are in the patch, and in the image.
    void list_turns() {
        const std::size_t side = r_.side;
        for (std::size_t turn = 0; turn < 8; turn++)
            for (std::size_t y = 0; y < side; y++)
                for (std::size_t x = 0; x < side; x++) {
                    std::size_t row = turn & 4 ? x : y, column = turn & 4 ? y : x;
                    if (turn & 2) row = side - 1 - row;
                    if (turn & 1) column = side - 1 - column;
                    places_[turn * m_ + y * side + x] = std::int32_t(row * side + column);
                    offsets_[turn * m_ + y * side + x] = std::int64_t(row * r_.width + column);
                }
    }

    // Copies a patch of all inputs, turned. That of the estimate becomes its key: less its mean, with a contrast on a logarithmic scale.
    std::size_t gather(std::size_t top, std::size_t left, std::size_t j) {
        const std::size_t side = r_.side, plane = r_.height * r_.width;
        const float* at = r_.images + top * r_.width + left;
        float sum = 0, right = 0, down = 0;
        for (std::size_t y = 0; y < side; y++)
            for (std::size_t x = 0; x < side; x++) {
                const float value = at[y * r_.width + x];
                sum += value;
                right += value * (float(x) - float(side - 1) / 2);
                down += value * (float(y) - float(side - 1) / 2);
            }
        const std::size_t turn = (right < 0 ? 1 : 0) + (down < 0 ? 2 : 0) + (std::fabs(down) > std::fabs(right) ? 4 : 0);
        const std::int64_t* offsets = offsets_.data() + turn * m_;
        float *input = inputs_.data() + j * r_.n_inputs * m_, *key = keys_.data() + j * m_;
        for (std::size_t c = 0; c < r_.n_inputs; c++)
            for (std::size_t k = 0; k < m_; k++) input[c * m_ + k] = at[c * plane + std::size_t(offsets[k])];
        const float mean = sum / float(m_);
        float squares = 0;
        for (std::size_t k = 0; k < m_; k++) {
            input[k] -= mean;
            squares += input[k] * input[k];
        }
        const float contrast = std::sqrt(squares / float(m_)) + 1e-9f, factor = std::log1p(2 * contrast) / contrast;
        for (std::size_t k = 0; k < m_; k++) key[k] = input[k] = factor * input[k];
        return turn;
    }

    // The nearest anchor of each patch: the one with the largest product less half of its square; of equal ones, the first.
    void choose() {
        Vec<float> best[kAtOnce];
        std::int32_t blocks[kAtOnce][kLanes<float>] = {};
        for (std::size_t j = 0; j < kAtOnce; j++) best[j] = splat(-std::numeric_limits<float>::infinity());
        for (std::size_t b = 0; b < blocks_; b++) {
            Vec<float> products[kAtOnce];
            const Vec<float> half = load(halves_.data() + b * kLanes<float>);
            for (auto& product : products) product = -half;
            const float* anchors = packed_.data() + b * m_ * kLanes<float>;
            for (std::size_t k = 0; k < m_; k++) {
                const Vec<float> values = pinned(load(anchors + k * kLanes<float>));
                for (std::size_t j = 0; j < kAtOnce; j++) products[j] = fma(splat(keys_[j * m_ + k]), values, products[j]);
            }
            for (std::size_t j = 0; j < kAtOnce; j++) {
                unsigned nearer = above(products[j], best[j]);
                best[j] = max(products[j], best[j]);
                for (; nearer != 0; nearer &= nearer - 1) blocks[j][__builtin_ctz(nearer)] = std::int32_t(b);
            }
        }
        for (std::size_t j = 0; j < kAtOnce; j++) {
            const float most = lane_max<float>(best[j]);
            std::size_t found = r_.n_anchors;
            for (std::size_t lane = 0; lane < kLanes<float>; lane++) {
                const std::size_t anchor = std::size_t(blocks[j][lane]) * kLanes<float> + lane;
                if (best[j][lane] == most && anchor < found) found = anchor;
            }
            nearest_[j] = found < r_.n_anchors ? found : 0;
        }
    }

    // The map of the nearest anchor. Each input has a sum of its own.
    void correct(std::size_t j) {
        const float* input = inputs_.data() + j * r_.n_inputs * m_;
        const float* map = r_.maps + nearest_[j] * r_.n_inputs * m_ * r_.wide;
        for (std::size_t k = 0; k < r_.wide; k += kRegressionStep) {
            Vec<float> sums[kVectors] = {};
            for (std::size_t c = 0; c < r_.n_inputs; c++) {
                Vec<float> parts[kVectors] = {};
                for (std::size_t i = c * m_; i < (c + 1) * m_; i++) {
                    const Vec<float> value = splat(input[i]);
                    for (std::size_t v = 0; v < kVectors; v++) parts[v] = fma(value, load(map + i * r_.wide + k + v * kLanes<float>), parts[v]);
                }
                for (std::size_t v = 0; v < kVectors; v++) sums[v] += parts[v];
            }
            for (std::size_t v = 0; v < kVectors; v++) store(out_.data() + k + v * kLanes<float>, sums[v]);
        }
        hold_back();
    }

    // No correction is larger than `limit`, as a root mean square.
    void hold_back() {
        const float most = float(m_) * r_.limit * r_.limit;
        float squares = 0;
        for (std::size_t k = 0; k < m_; k++) squares += out_[k] * out_[k];
        if (!(squares > most)) return;
        const float scale = std::sqrt(most / squares);
        for (std::size_t k = 0; k < m_; k++) out_[k] *= scale;
    }

    void add(std::size_t top, std::size_t left, std::size_t turn, std::size_t first, std::size_t last, float* total) {
        const std::int32_t* places = places_.data() + turn * m_;
        for (std::size_t k = 0; k < m_; k++) upright_[std::size_t(places[k])] = out_[k];
        for (std::size_t y = 0; y < r_.side; y++) {
            if (top + y < first || top + y >= last) continue;
            float* row = total + (top + y - first) * r_.width + left;
            for (std::size_t x = 0; x < r_.side; x++) row[x] += upright_[y * r_.side + x];
        }
    }

    Regression r_;
    std::size_t m_, blocks_;
    Buffer<float> packed_, halves_;
    Buffer<std::int32_t> places_;
    Buffer<std::int64_t> offsets_;
    Buffer<float> keys_, inputs_, out_, upright_;
    std::size_t turns_of_[kAtOnce] = {}, nearest_[kAtOnce] = {};
};

inline void regress(const Regression& regression, const std::int64_t* tops, std::size_t n_tops, std::size_t first, std::size_t last, Stop stop,
                    float* total) {
    PatchRegression(regression).run(tops, n_tops, first, last, stop, total);
}

}  // namespace epitomes::EPITOMES_ISA
