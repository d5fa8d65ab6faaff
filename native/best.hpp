// The best of many atoms, found without branches: when a record falls cannot be guessed.
#pragma once

#include "simd.hpp"

namespace epitomes::EPITOMES_ISA {

// The best atom of each lane: the one with the largest c^2 / rest, compared by multiplying. The first of equals stays.
template <class T>
struct BestByLane {
    Vec<T> square{}, rest = splat(T(1));
    Ints<T> vector = Ints<T>{} - 1;  // the slot of its first lane; -1 while there is none

    void offer(Vec<T> c, Vec<T> left, std::size_t slot) {
        const Vec<T> energy = c * c;
        const Ints<T> better = (left > Vec<T>{}) & (energy * rest > square * left);
        square = better ? energy : square;
        rest = better ? left : rest;
        vector = better ? Ints<T>{} + typename Simd<T>::Int(slot) : vector;
    }
    // The best of all lanes, -1 if there is none; of equals the lowest slot.
    std::int64_t slot() const {
        const Vec<T> scores = square / rest;
        const T top = lane_max<T>(scores);
        std::int64_t best = -1;
        for (std::size_t lane = 0; lane < kLanes<T>; lane++) {
            const std::int64_t at = std::int64_t(vector[lane]) + std::int64_t(lane);
            best = scores[lane] == top && vector[lane] >= 0 && (best < 0 || at < best) ? at : best;
        }
        return best;
    }
};

}  // namespace epitomes::EPITOMES_ISA
