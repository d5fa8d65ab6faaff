// Squares of one plane compared with shifted squares of another one, for the motion between them.
#pragma once

#include "engine.hpp"

namespace epitomes::EPITOMES_ISA {

// Mean squared differences of all squares and their candidates. Rows are summed in vectors, and what is left of them one
// by one, so a difference depends on its two squares alone.
inline void compare_squares(const Squares& squares, const std::int64_t* rows, const std::int64_t* columns, float* differences) {
    const std::size_t n_pixels = (squares.side + squares.step - 1) / squares.step * squares.side;
    const std::size_t n_squares = squares.n_tops * squares.n_lefts;
    for (std::size_t square = 0; square < n_squares; square++) {
        const std::size_t top = std::size_t(squares.tops[square / squares.n_lefts]), left = std::size_t(squares.lefts[square % squares.n_lefts]);
        const float* here = squares.plane + top * squares.width + left;
        for (std::size_t at = square; at < squares.n_candidates * n_squares; at += n_squares) {
            const float* there = squares.other + std::size_t(rows[at]) * squares.other_width + std::size_t(columns[at]);
            Vec<float> sums{};
            float rest = 0;
            for (std::size_t y = 0; y < squares.side; y += squares.step) {
                const float *a = here + y * squares.width, *b = there + y * squares.other_width;
                std::size_t x = 0;
                for (; x + kLanes<float> <= squares.side; x += kLanes<float>) {
                    const Vec<float> d = load(a + x) - load(b + x);
                    sums = fma(d, d, sums);
                }
                for (; x < squares.side; x++) {
                    const float d = a[x] - b[x];
                    rest = one_fma(d, d, rest);
                }
            }
            differences[at] = (lane_sum<float>(sums) + rest) / float(n_pixels);
        }
    }
}

}  // namespace epitomes::EPITOMES_ISA
