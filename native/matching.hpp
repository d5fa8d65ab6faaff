// Block matching: for each reference patch the patches of a window around it that differ least.
// A shift at a time, squared differences are summed down the columns of a line of references and then across; references
// on a line share these sums. Every distance is summed in an order that depends on the patch shape alone.
#pragma once

#include <algorithm>

#include "engine.hpp"
#include "memory.hpp"

namespace epitomes::EPITOMES_ISA {

class Matcher {
   public:
    explicit Matcher(const Search& search)
        : s_(search), rows_(search.channels * search.patch_planes * search.patch_height), column_(search.width + 2 * kLanes<float>), sums_(search.width + 2 * kLanes<float>),
          spread_(search.width + 2 * kLanes<float>), distances_(search.n_lefts * n_shifts(), Filled::nothing), keys_(n_shifts()), minima_(2 * search.n_matches + 2 * kLanes<float>) {}

    // Matches of the references on one line: their places, nearest first, and squared distances. The reference itself
    // comes first; equal distances follow the order of the shifts; where the image has too few patches, the last one
    // stands again, infinitely far.
    void line(std::size_t plane, std::size_t top, std::int32_t* places, float* distances) {
        std::fill_n(distances_.data(), distances_.size(), kFar);
        const std::ptrdiff_t planes = std::ptrdiff_t(s_.planes - s_.patch_planes), rows = std::ptrdiff_t(s_.height - s_.patch_height);
        set_rows(plane, top);
        std::size_t shift = 0;
        for (std::ptrdiff_t dt = -reach(s_.reach_planes); dt <= reach(s_.reach_planes); dt++)
            for (std::ptrdiff_t dy = -reach(s_.reach_height); dy <= reach(s_.reach_height); dy++) {
                const std::ptrdiff_t t = std::ptrdiff_t(plane) + dt, y = std::ptrdiff_t(top) + dy;
                for (std::ptrdiff_t dx = -reach(s_.reach_width); dx <= reach(s_.reach_width); dx++, shift++)
                    if (t >= 0 && t <= planes && y >= 0 && y <= rows) compare(dx, (dt * std::ptrdiff_t(s_.height) + dy) * std::ptrdiff_t(s_.width) + dx, shift);
            }
        for (std::size_t r = 0; r < s_.n_lefts; r++)
            select(plane, top, std::size_t(s_.lefts[r]), distances_.data() + r * n_shifts(), places + r * s_.n_matches, distances + r * s_.n_matches);
    }

   private:
    static constexpr float kFar = __builtin_inff();
    static constexpr unsigned kAll = (1u << kLanes<float>) - 1;
    static constexpr int kHalvings = 10;

    static std::ptrdiff_t reach(std::size_t r) { return std::ptrdiff_t(r); }
    std::size_t n_shifts() const { return (2 * s_.reach_planes + 1) * (2 * s_.reach_height + 1) * (2 * s_.reach_width + 1); }
    const float* row(std::size_t channel, std::size_t plane, std::size_t y) const {
        return s_.image + ((channel * s_.planes + plane) * s_.height + y) * s_.width;
    }

    // Rows of all patches of a line of references, channel by channel.
    void set_rows(std::size_t plane, std::size_t top) {
        std::size_t i = 0;
        for (std::size_t c = 0; c < s_.channels; c++)
            for (std::size_t a = 0; a < s_.patch_planes; a++)
                for (std::size_t b = 0; b < s_.patch_height; b++) rows_[i++] = row(c, plane + a, top + b);
    }

    // Distances of a shift, which leads `by` values further in every row.
    void compare(std::ptrdiff_t dx, std::ptrdiff_t by, std::size_t shift) {
        const std::size_t first = dx < 0 ? std::size_t(-dx) : 0, last = dx < 0 ? s_.width : s_.width - std::min(s_.width, std::size_t(dx));
        if (last < first + s_.patch_width) return;
        const std::size_t n = last - first;
        std::size_t x = 0;
        for (; x + 4 * kLanes<float> <= n; x += 4 * kLanes<float>) add_rows<4>(first + x, by, column_.data() + x);
        for (; x + kLanes<float> <= n; x += kLanes<float>) add_rows<1>(first + x, by, column_.data() + x);
        for (; x < n; x++) {
            float sum = 0;
            for (std::size_t i = 0; i < rows_.size(); i++) {
                const float d = rows_[i][first + x] - rows_[i][std::ptrdiff_t(first + x) + by];
                sum = one_fma(d, d, sum);
            }
            column_[x] = sum;
        }
        sum_across(n);
        for (std::size_t r = 0; r < s_.n_lefts; r++) {
            const std::size_t left = std::size_t(s_.lefts[r]);
            if (left >= first && left + s_.patch_width <= last) distances_[r * n_shifts() + shift] = sums_[left - first];
        }
    }
    // V vectors of (a - b)^2, summed down the rows.
    template <int V>
    void add_rows(std::size_t x, std::ptrdiff_t by, float* out) const {
        Vec<float> sums[V];
        for (int v = 0; v < V; v++) sums[v] = Vec<float>{};
        for (std::size_t i = 0; i < rows_.size(); i++) {
            const float *a = rows_[i] + x, *b = a + by;
#pragma GCC unroll 4
            for (int v = 0; v < V; v++) {
                const Vec<float> d = load(a + std::size_t(v) * kLanes<float>) - load(b + std::size_t(v) * kLanes<float>);
                sums[v] = fma(d, d, sums[v]);
            }
        }
        for (int v = 0; v < V; v++) store(out + std::size_t(v) * kLanes<float>, sums[v]);
    }

    // sums[x] = column[x] + ... + column[x + patch_width - 1], by doubling: sums of 1, 2, 4, ... columns, those that make
    // up the width added from the left.
    void sum_across(std::size_t n) {
        std::size_t span = 1, taken = 0, left = n;
        float* powers = column_.data();
        float* next = spread_.data();
        for (std::size_t bits = s_.patch_width; bits > 0; bits >>= 1) {
            if (bits & 1) {
                const std::size_t count = left - taken;
                if (taken == 0)
                    std::memcpy(sums_.data(), powers, count * sizeof(float));
                else
                    plus(sums_.data(), powers + taken, sums_.data(), count);
                taken += span;
            }
            if (bits > 1) {
                plus(powers, powers + span, next, left - span);
                std::swap(powers, next);
                left -= span;
                span *= 2;
            }
        }
    }
    static void plus(const float* a, const float* b, float* out, std::size_t n) {
        constexpr std::size_t lanes = kLanes<float>;
        std::size_t x = 0;
        for (; x + lanes <= n; x += lanes) store(out + x, load(a + x) + load(b + x));
        for (; x < n; x++) out[x] = a[x] + b[x];
    }

    // The nearest of all shifts. Distances are not negative, so their bits rise with them: a distance and the number of
    // its shift make one whole number, and no two are equal.
    void select(std::size_t plane, std::size_t top, std::size_t left, float* of, std::int32_t* places, float* distances) {
        const std::size_t self = n_shifts() / 2;
        of[self] = kFar;
        const std::size_t n = candidates(of);
        const std::size_t wanted = std::min(n, s_.n_matches - 1);
        if (wanted < n) std::nth_element(keys_.data(), keys_.data() + wanted, keys_.data() + n);
        std::sort(keys_.data(), keys_.data() + wanted);
        places[0] = place(plane, top, left, self);
        distances[0] = 0;
        for (std::size_t k = 0; k < wanted; k++) {
            const std::size_t shift = std::size_t(keys_[k] & 0xffffffffu);
            places[k + 1] = place(plane, top, left, shift);
            distances[k + 1] = of[shift];
        }
        for (std::size_t k = wanted + 1; k < s_.n_matches; k++) {
            places[k] = places[wanted];
            distances[k] = kFar;
        }
    }
    // Keys of distances that may be among the nearest, all that are and some more; returns how many.
    std::size_t candidates(const float* of) {
        constexpr std::size_t lanes = kLanes<float>;
        const std::size_t whole = n_shifts() / lanes * lanes;
        const float most = bound(of, whole / lanes);
        const Vec<float> limit = splat(most);
        std::size_t n = 0;
        for (std::size_t k = 0; k < whole; k += lanes)
            for (unsigned near = ~above(load(of + k), limit) & kAll; near != 0; near &= near - 1) n = add_key(of, k + std::size_t(__builtin_ctz(near)), n);
        for (std::size_t k = whole; k < n_shifts(); k++)
            if (of[k] <= most) n = add_key(of, k, n);
        return n;
    }
    std::size_t add_key(const float* of, std::size_t shift, std::size_t n) {
        if (of[shift] == kFar) return n;
        std::uint32_t bits;
        std::memcpy(&bits, of + shift, sizeof bits);
        keys_[n] = std::uint64_t(bits) << 32 | shift;
        return n + 1;
    }
    // A distance that at least as many as wanted do not exceed: distances fall into parts that have a least one each, and of
    // these so many do not exceed it.
    float bound(const float* of, std::size_t n_vectors) {
        constexpr std::size_t lanes = kLanes<float>;
        const std::size_t wanted = s_.n_matches - 1, parts = (2 * wanted + lanes - 1) / lanes;
        if (wanted == 0 || parts > n_vectors) return kFar;
        for (std::size_t i = 0; i < parts; i++) {
            Vec<float> least = -load(of + i * lanes);
            for (std::size_t v = i + parts; v < n_vectors; v += parts) least = max(least, -load(of + v * lanes));
            store(minima_.data() + i * lanes, -least);
        }
        return exceeded(minima_.data(), parts, wanted);
    }
    // A value that `wanted` of these do not exceed, and few more: their range is halved a few times.
    static float exceeded(const float* values, std::size_t n_vectors, std::size_t wanted) {
        Vec<float> most{};
        for (std::size_t v = 0; v < n_vectors; v++) {
            const Vec<float> x = load(values + v * kLanes<float>);
            most = max(most, x < splat(kFar) ? x : Vec<float>{});
        }
        float low = 0, high = lane_max<float>(most);
        if (not_above(values, n_vectors, high) < wanted) return kFar;
        for (int step = 0; step < kHalvings; step++) {
            const float middle = (low + high) / 2;
            (not_above(values, n_vectors, middle) < wanted ? low : high) = middle;
        }
        return high;
    }
    static std::size_t not_above(const float* values, std::size_t n_vectors, float limit) {
        std::size_t n = 0;
        for (std::size_t v = 0; v < n_vectors; v++) n += std::size_t(__builtin_popcount(~above(load(values + v * kLanes<float>), splat(limit)) & kAll));
        return n;
    }
    std::int32_t place(std::size_t plane, std::size_t top, std::size_t left, std::size_t shift) const {
        const std::size_t wide = 2 * s_.reach_width + 1, tall = 2 * s_.reach_height + 1;
        const std::size_t x = left + shift % wide - s_.reach_width, y = top + shift / wide % tall - s_.reach_height,
                          t = plane + shift / wide / tall - s_.reach_planes;
        return std::int32_t((t * s_.height + y) * s_.width + x);
    }

    Search s_;
    Buffer<const float*> rows_;
    Buffer<float> column_, sums_, spread_, distances_;
    Buffer<std::uint64_t> keys_;
    Buffer<float> minima_;
};

inline void match(const Search& search, std::size_t plane, const std::int64_t* tops, std::size_t n_tops, Stop stop, std::int32_t* places,
                  float* distances) {
    Matcher matcher(search);
    const std::size_t per_line = search.n_lefts * search.n_matches;
    for (std::size_t i = 0; i < n_tops && !stop.raised(); i++)
        matcher.line(plane, std::size_t(tops[i]), places + i * per_line, distances + i * per_line);
}

}  // namespace epitomes::EPITOMES_ISA
