// Rows of the Gram matrix: read from memory, or computed when asked for.
#pragma once

#include <cmath>

#include "known.hpp"

namespace epitomes::EPITOMES_ISA {

template <class T>
class DenseGram {
   public:
    DenseGram(const T* rows, std::size_t padded) : rows_(rows), padded_(padded) {}
    const T* row(std::size_t slot) { return rows_ + slot * padded_; }
    void tidy() {}

   private:
    const T* rows_;
    std::size_t padded_;
};

// For dictionaries whose Gram matrix would fill the memory, and for patches with unknown pixels, whose atoms are cut by
// a mask of their own. Rows are kept for the patch at hand.
template <class T>
class LazyGram {
   public:
    explicit LazyGram(const Atoms<T>& atoms) : atoms_(atoms), shelf_(atoms.p, atoms.padded) {
        row_of_slot_ = Buffer<std::int32_t>(atoms.padded);
        used_ = Buffer<std::int32_t>(atoms.p);
    }

    // Between patches: rows that many patches share are worth keeping, but not without limit.
    void tidy() {
        if (n_used_ > kMostKept) begin(nullptr, 0);
    }

    // Forgets the last patch. `places` are those of its known pixels, or null where all are known.
    void begin(const std::int32_t* places, std::size_t n_known) {
        for (std::size_t k = 0; k < n_used_; k++) row_of_slot_[std::size_t(used_[k])] = 0;
        n_used_ = 0;
        places_ = places;
        n_known_ = n_known;
    }

    const T* row(std::size_t slot) {
        if (row_of_slot_[slot] > 0) return shelf_.row(std::size_t(row_of_slot_[slot] - 1));
        used_[n_used_] = std::int32_t(slot);
        row_of_slot_[slot] = std::int32_t(++n_used_);
        T* row = shelf_.row(n_used_ - 1);
        const T* atom = atoms_.unit.data() + slot * atoms_.m;
        if (places_ == nullptr) {
            correlate_rows(atoms_, atoms_.packed.data(), &atom, 1, row);
        } else {
            correlate_known(atoms_, {atom, places_, n_known_}, row);
        }
        return row;
    }

   private:
    static constexpr std::size_t kMostKept = 1024;

    const Atoms<T>& atoms_;
    Shelf<T> shelf_;
    Buffer<std::int32_t> row_of_slot_, used_;
    const std::int32_t* places_ = nullptr;
    std::size_t n_known_ = 0, n_used_ = 0;
};

}  // namespace epitomes::EPITOMES_ISA
