// Sums over coded patches, and the product of such a sum with a dictionary: all that the dictionary step computes.
#pragma once

#include "correlate.hpp"
#include "patches.hpp"

namespace epitomes::EPITOMES_ISA {

// Adds n rows (n, m) and their codes to the sums of the atoms first to last - 1; every entry of a sum is added in the
// order of the rows. Threads share the sums by taking different atoms, so their number changes no bit.
template <class T>
void summarise(const T* rows, std::size_t n, std::size_t m, const Start<T>& codes, std::size_t first, std::size_t last, std::size_t p,
               double* gram, double* cross, double* mass) {
    for (std::size_t i = 0; i < n; i++) {
        const T* row = rows + i * m;
        for (std::int64_t a = codes.begin[i]; a < codes.begin[i + 1]; a++) {
            const std::size_t j = std::size_t(codes.atoms[a]);
            if (j < first || j >= last) continue;
            const double value = double(codes.values[a]);
            mass[j] += value < 0 ? -value : value;
            double* sums = cross + j * m;
            for (std::size_t k = 0; k < m; k++) sums[k] += value * double(row[k]);
            double* products = gram + j * p;
            for (std::int64_t b = codes.begin[i]; b < codes.begin[i + 1]; b++) products[codes.atoms[b]] += value * double(codes.values[b]);
        }
    }
}

// The product of a Gram matrix of codes, often mostly zeros, with a dictionary. Both routes add over the inner axis in
// order, and adding a zero changes nothing: the choice between them is free of consequences.
class Product {
   public:
    Product(const double* right, std::size_t inner, std::size_t width)
        : right_(right), inner_(inner), width_(width), packed_(inner * round_up(width, kTile)), places_(inner, Filled::nothing),
          weights_(inner, Filled::nothing), part_(kRowsAtOnce * kTile) {
        for (std::size_t k = 0; k < inner; k++)
            for (std::size_t c = 0; c < width; c++) packed_[(c / kTile * inner + k) * kTile + c % kTile] = right[k * width + c];
    }

    // out (n, width) = left (n, inner) times right.
    void run(const double* left, std::size_t n, double* out) {
        for (std::size_t i = 0; i < n;) {
            const std::size_t tall = n - i < kTall ? n - i : kTall;
            if (3 * compress(left + (i + tall / 2) * inner_) > inner_)  // one row stands for its neighbours
                dense(left + i * inner_, tall, out + i * width_);
            else
                for (std::size_t r = 0; r < tall; r++) sparse(left + (i + r) * inner_, out + (i + r) * width_);
            i += tall;
        }
    }

   private:
    static constexpr std::size_t kTile = 2 * kLanes<double>;
    static constexpr std::size_t kTall = 48;

    void dense(const double* left, std::size_t n, double* out) {
        const double* rows[kRowsAtOnce];
        for (std::size_t c = 0; c < width_; c += kTile)
            for (std::size_t i = 0; i < n;) {
                const std::size_t tall = n - i < kRowsAtOnce ? 1 : kRowsAtOnce;
                for (std::size_t r = 0; r < tall; r++) rows[r] = left + (i + r) * inner_;
                if (tall == 1)
                    micro<1>(rows, inner_, packed_.data() + c * inner_, part_.data(), kTile);
                else
                    micro<int(kRowsAtOnce)>(rows, inner_, packed_.data() + c * inner_, part_.data(), kTile);
                for (std::size_t r = 0; r < tall; r++) copy(part_.data() + r * kTile, out + (i + r) * width_, c);
                i += tall;
            }
    }

    void sparse(const double* left, double* out) {
        const std::size_t count = compress(left);
        std::size_t c = 0;
        for (; c + 4 * kTile <= width_; c += 4 * kTile) combine<8>(count, right_ + c, width_, out + c);
        for (; c < width_; c += kTile) {
            combine<2>(count, packed_.data() + c * inner_, kTile, part_.data());
            copy(part_.data(), out, c);
        }
    }
    // The entries of a row that are not zero; returns how many.
    std::size_t compress(const double* row) {
        std::size_t count = 0;
        for (std::size_t k = 0; k < inner_; k++) {
            places_[count] = std::int32_t(k);
            weights_[count] = row[k];
            count += row[k] != 0.0;
        }
        return count;
    }
    template <int Vectors>
    void combine(std::size_t count, const double* base, std::size_t stride, double* out) const {
        constexpr std::size_t lanes = kLanes<double>;
        Vec<double> sums[Vectors];
        for (int v = 0; v < Vectors; v++) sums[v] = Vec<double>{};
        for (std::size_t k = 0; k < count; k++) {
            const double* entries = base + std::size_t(places_[k]) * stride;
            const Vec<double> weight = splat(weights_[k]);
#pragma GCC unroll 8
            for (int v = 0; v < Vectors; v++) sums[v] = fma(weight, load(entries + std::size_t(v) * lanes), sums[v]);
        }
        for (int v = 0; v < Vectors; v++) store(out + std::size_t(v) * lanes, sums[v]);
    }
    void copy(const double* tile, double* row, std::size_t first) const {
        const std::size_t wide = width_ - first < kTile ? width_ - first : kTile;
        for (std::size_t c = 0; c < wide; c++) row[first + c] = tile[c];
    }

    const double* right_;
    std::size_t inner_, width_;
    Buffer<double> packed_;
    Buffer<std::int32_t> places_;
    Buffer<double> weights_, part_;
};

inline void multiply(const double* left, std::size_t n, std::size_t inner, const double* right, std::size_t width, double* out) {
    Product(right, inner, width).run(left, n, out);
}

}  // namespace epitomes::EPITOMES_ISA
