// All correlations of patches with atoms, by two routes.
// Rows: a GEMM micro-kernel; each sum runs over the pixels in order, whatever rows stand beside it.
// Windows: patches overlap in the image and atoms overlap in their pictures, so a correlation is a sum of column
// correlations that neighbours share. Nothing is carried from one window to the next but exact partial sums, hence a
// window has the same bits wherever its run begins.
#pragma once

#include "atoms.hpp"

namespace epitomes::EPITOMES_ISA {

constexpr std::size_t kBlock = 48;  // rows correlated at once: their correlations stay in the second-level cache
constexpr std::size_t kRun = 96;    // windows correlated at once

template <int R, class T>
inline void micro(const T* const* rows, std::size_t m, const T* tile, T* out, std::size_t stride) {
    constexpr std::size_t lanes = kLanes<T>;
    Vec<T> low[R], high[R];
    for (int r = 0; r < R; r++) low[r] = high[r] = Vec<T>{};
    for (std::size_t k = 0; k < m; k++, tile += 2 * lanes) {
        const Vec<T> a = load(tile), b = load(tile + lanes);
#pragma GCC unroll 12
        for (int r = 0; r < R; r++) {
            const Vec<T> x = splat(rows[r][k]);
            low[r] = fma(x, a, low[r]);
            high[r] = fma(x, b, high[r]);
        }
    }
    for (int r = 0; r < R; r++) {
        store(out + std::size_t(r) * stride, low[r]);
        store(out + std::size_t(r) * stride + lanes, high[r]);
    }
}

// The same for one tile of atoms and any number of rows.
template <class T>
inline void correlate_tile(const T* const* rows, std::size_t n, std::size_t m, const T* tile, T* out, std::size_t stride) {
    std::size_t i = 0;
    for (; i + kRowsAtOnce <= n; i += kRowsAtOnce) micro<kRowsAtOnce>(rows + i, m, tile, out + i * stride, stride);
    for (; i + 3 <= n; i += 3) micro<3>(rows + i, m, tile, out + i * stride, stride);
    for (; i < n; i++) micro<1>(rows + i, m, tile, out + i * stride, stride);
}

// out (n, padded) = rows (n, m) times packed (padded, m)'.
template <class T>
void correlate_rows(const Atoms<T>& atoms, const T* packed, const T* const* rows, std::size_t n, T* out) {
    constexpr std::size_t tile = 2 * kLanes<T>;
    for (std::size_t t = 0; t < atoms.padded / tile; t++)
        correlate_tile(rows, n, atoms.m, packed + t * atoms.m * tile, out + t * tile, atoms.padded);
}

// Column correlations of X pixel columns with U picture columns. Their height is known to the compiler (Tall > 0) where
// it is a common one: the loop over it is short, and unrolled it keeps the multiply-add units busy.
template <int U, int X, int Tall, class T>
inline void columns_times(const T* pixels, std::size_t any_tall, const T* columns, T* const* out, std::size_t u) {
    constexpr std::size_t lanes = kLanes<T>;
    const std::size_t tall = Tall > 0 ? std::size_t(Tall) : any_tall;
    Vec<T> sums[U][X];
    for (int i = 0; i < U; i++)
        for (int x = 0; x < X; x++) sums[i][x] = Vec<T>{};
    const T* column = columns + u * tall * lanes;
#pragma GCC unroll 8
    for (std::size_t k = 0; k < tall; k++) {
        Vec<T> value[X];
        for (int x = 0; x < X; x++) value[x] = splat(pixels[std::size_t(x) * tall + k]);
#pragma GCC unroll 8
        for (int i = 0; i < U; i++) {
            const Vec<T> e = pinned(load(column + (std::size_t(i) * tall + k) * lanes));
            for (int x = 0; x < X; x++) sums[i][x] = fma(value[x], e, sums[i][x]);
        }
    }
    for (int x = 0; x < X; x++)
        for (int i = 0; i < U; i++) store(out[x] + (u + std::size_t(i)) * lanes, sums[i][x]);
}
template <int X, int Tall, class T>
void columns_times_all(const T* pixels, std::size_t tall, const T* columns, std::size_t width, T* const* out) {
    for (std::size_t u = 0; u < width; u += kWide) columns_times<kWide, X, Tall>(pixels, tall, columns, out, u);
}
template <int X, class T>
void columns_times_any(const T* pixels, std::size_t tall, const T* columns, std::size_t width, T* const* out) {
    switch (tall) {
        case 6: return columns_times_all<X, 6>(pixels, tall, columns, width, out);
        case 8: return columns_times_all<X, 8>(pixels, tall, columns, width, out);
        case 10: return columns_times_all<X, 10>(pixels, tall, columns, width, out);
        case 12: return columns_times_all<X, 12>(pixels, tall, columns, width, out);
        default: return columns_times_all<X, 0>(pixels, tall, columns, width, out);
    }
}

// Where a vector of a window's correlations goes, and what scales and centres them.
template <class T>
struct Finish {
    T mean;
    const T *inverse_norm, *sum;
    T* out;
    std::size_t step;  // slots per column of windows

    inline void put(std::size_t u, Vec<T> total) const {
        store(out + u * step, fnma(splat(mean), load(sum + u * step), total * load(inverse_norm + u * step)));
    }
};

// Sums of four column correlations along the diagonal.
template <class T>
inline Vec<T> sum_of_four(const T* const* columns, std::size_t at) {
    return (load(columns[0] + at) + load(columns[1] + at)) + (load(columns[2] + at) + load(columns[3] + at));
}

// One window from its partial sums, in their order; N of them.
template <int N, class T>
inline void finish(const T* const* terms, std::size_t across, const Finish<T> finish) {
    for (std::size_t u = 0; u < across; u++) {
        Vec<T> total = load(terms[0] + u * kLanes<T>);
#pragma GCC unroll 8
        for (int t = 1; t < N; t++) total = total + load(terms[t] + u * kLanes<T>);
        finish.put(u, total);
    }
}

// The same where the last partial sum is a sum of four that is still to be made: made, kept and used in one go.
template <int N, class T>
inline void finish_fresh(const T* const* terms, const T* const* columns, T* __restrict four, std::size_t across, const Finish<T> finish) {
    constexpr std::size_t lead = 4 * (N - 1);  // sums of four that belong to windows further on
    for (std::size_t u = 0; u < lead; u++) store(four + u * kLanes<T>, sum_of_four(columns, u * kLanes<T>));
    for (std::size_t u = 0; u < across; u++) {
        const Vec<T> fresh = sum_of_four(columns, (u + lead) * kLanes<T>);
        store(four + (u + lead) * kLanes<T>, fresh);
        Vec<T> total = N > 1 ? load(terms[0] + u * kLanes<T>) : fresh;
#pragma GCC unroll 8
        for (int t = 1; t < N; t++) total = total + (t + 1 < N ? load(terms[t] + u * kLanes<T>) : fresh);
        finish.put(u, total);
    }
}

// Scratch of the window route: the pixel columns of a run, and rings of column correlations and sums of four of them.
template <class T>
class WindowCorrelator {
   public:
    explicit WindowCorrelator(const Atoms<T>& atoms) : atoms_(atoms) {
        if (!atoms.structural()) return;
        std::size_t width = 0;
        for (std::size_t b = 0; b < atoms.n_bands; b++) width = atoms.bands[b].width > width ? atoms.bands[b].width : width;
        line_ = round_up(width, kWide) * kLanes<T>;
        fours_ring_ = atoms.patch_width - 3;  // just those still to be read: the rings must fit in the first-level cache
        pixels_ = Buffer<T>((kRun + atoms.patch_width + kAhead) * atoms.patch_height * atoms.channels);
        ones_ = Buffer<T>(kOnesRing * line_);
        fours_ = Buffer<T>(fours_ring_ * line_);
    }

    // Correlates `count` <= kRun windows side by side from `window` into out (count, padded).
    void run(const T* window, std::size_t stride, std::size_t count, const T* means, T* out) {
        const std::size_t tall = atoms_.patch_height * atoms_.channels, n_columns = count + atoms_.patch_width - 1;
        for (std::size_t x = 0; x < n_columns; x++)
            for (std::size_t k = 0; k < tall; k++)
                pixels_[x * tall + k] = window[k / atoms_.channels * stride + x * atoms_.channels + k % atoms_.channels];
        std::memset(pixels_.data() + n_columns * tall, 0, kAhead * tall * sizeof(T));
        // A vector that is not full spills into slots that are written later, or into the zeros past the last atom.
        for (std::size_t b = 0; b < atoms_.n_bands; b++)
            for (std::size_t v = 0; v < atoms_.bands[b].vectors; v++) sweep(atoms_.bands[b], v, n_columns, means, out);
        for (std::size_t x = 0; x < count; x++)
            for (std::size_t s = atoms_.p; s < atoms_.padded; s++) out[x * atoms_.padded + s] = T(0);
    }

   private:
    static constexpr std::size_t kAhead = 3, kOnesRing = 3 + kAhead;  // new columns, and three before them

    T* ones(std::size_t x) { return ones_.data() + x % kOnesRing * line_; }
    T* fours(std::size_t x) { return fours_.data() + x % fours_ring_ * line_; }

    void sweep(const Band<T>& band, std::size_t v, std::size_t n_columns, const T* means, T* out) {
        const std::size_t tall = atoms_.patch_height * atoms_.channels;
        const T* columns = band.columns.data() + v * band.wide * tall * kLanes<T>;
        for (std::size_t x = 0; x < n_columns; x += kAhead) {  // pixel columns past the last are zeros, and never closed
            T* rows[kAhead];
            for (std::size_t i = 0; i < kAhead; i++) rows[i] = ones(x + i);
            columns_times_any<kAhead>(pixels_.data() + x * tall, tall, columns, band.wide, rows);
            for (std::size_t i = x; i < x + kAhead && i < n_columns; i++) close(band, v, i, means, out);
        }
    }

    // With column x known, sums of four end at x, and the window that ends at x is complete.
    void close(const Band<T>& band, std::size_t v, std::size_t x, const T* means, T* out) {
        constexpr std::size_t lanes = kLanes<T>;
        const std::size_t w = atoms_.patch_width, quads = w / 4, n_terms = quads + w % 4;
        const bool is_whole = x + 1 >= w;
        const std::size_t first = is_whole ? x + 1 - w : 0, slot = band.slot(v, 0);
        const Finish<T> end{means[first], atoms_.inverse_norm.data() + slot, atoms_.sum.data() + slot,
                            out + first * atoms_.padded + slot, band.slots_per_column(v)};
        const T* columns[4];
        if (x >= 3)
            for (std::size_t i = 0; i < 4; i++) columns[i] = ones(x - 3 + i) + i * lanes;
        const T* terms[kMostTerms];
        for (std::size_t q = 0; q < quads; q++) terms[q] = fours(first + 4 * q) + 4 * q * lanes;
        for (std::size_t r = quads; r < n_terms; r++) terms[r] = ones(first + 3 * quads + r) + (3 * quads + r) * lanes;
        if (is_whole && w == 8) return finish_fresh<2>(terms, columns, fours(x - 3), band.across, end);
        if (is_whole && w == 12) return finish_fresh<3>(terms, columns, fours(x - 3), band.across, end);
        if (is_whole && w == 16) return finish_fresh<4>(terms, columns, fours(x - 3), band.across, end);
        if (x >= 3) {
            T* __restrict four = fours(x - 3);
            for (std::size_t u = 0; u + 3 < band.width; u++) store(four + u * lanes, sum_of_four(columns, u * lanes));
        }
        if (is_whole) finish_any(n_terms, terms, band.across, end);
    }
    static void finish_any(std::size_t n, const T* const* terms, std::size_t across, const Finish<T> end) {
        switch (n) {
            case 1: return finish<1>(terms, across, end);
            case 2: return finish<2>(terms, across, end);
            case 3: return finish<3>(terms, across, end);
            case 4: return finish<4>(terms, across, end);
            case 5: return finish<5>(terms, across, end);
            case 6: return finish<6>(terms, across, end);
            default: return finish<7>(terms, across, end);
        }
    }

    const Atoms<T>& atoms_;
    std::size_t line_ = 0, fours_ring_ = 1;
    Buffer<T> pixels_, ones_, fours_;
};

}  // namespace epitomes::EPITOMES_ISA
