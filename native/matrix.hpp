// Rows of whole vectors, padded with zeros: added, multiplied, combined. Sums run in an order that depends on the sizes
// alone.
#pragma once

#include "memory.hpp"

namespace epitomes::EPITOMES_ISA {

// out += a x, over n values rounded up to whole vectors: rows are padded with zeros.
template <class T>
inline void add_scaled(T a, const T* x, T* out, std::size_t n) {
    const Vec<T> v = splat(a);
    for (std::size_t k = 0; k < n; k += kLanes<T>) store(out + k, fma(v, load(x + k), load(out + k)));
}
template <class T>
inline T dot(const T* x, const T* y, std::size_t n) {
    Vec<T> sums{};
    for (std::size_t k = 0; k < n; k += kLanes<T>) sums = fma(load(x + k), load(y + k), sums);
    return lane_sum<T>(sums);
}

// out[i] = dot(x, row i) for the first rows of a matrix, several at a time, with the same bits.
template <int N, class T>
inline void some_dots(const T* x, const T* rows, std::size_t stride, std::size_t n, T* out) {
    Vec<T> sums[N];
    for (int i = 0; i < N; i++) sums[i] = Vec<T>{};
    for (std::size_t k = 0; k < n; k += kLanes<T>) {
        const Vec<T> v = load(x + k);
#pragma GCC unroll 4
        for (int i = 0; i < N; i++) sums[i] = fma(v, load(rows + std::size_t(i) * stride + k), sums[i]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < N; i++) out[i] = lane_sum<T>(sums[i]);
}
template <class T>
inline void dots(const T* x, const T* rows, std::size_t stride, std::size_t n_rows, std::size_t n, T* out) {
    std::size_t i = 0;
    for (; i + 4 <= n_rows; i += 4) some_dots<4>(x, rows + i * stride, stride, n, out + i);
    for (; i < n_rows; i++) some_dots<1>(x, rows + i * stride, stride, n, out + i);
}

template <class T>
inline void scale(T* x, T factor, std::size_t n) {
    for (std::size_t k = 0; k < n; k += kLanes<T>) store(x + k, load(x + k) * splat(factor));
}

// Takes orthonormal rows off a unit vector x: `across` receives its products with them, and the squared norm that is left
// is returned. `parts` is scratch.
template <class T>
inline T take_off(T* x, const T* rows, std::size_t stride, std::size_t n_rows, T* across, T* parts) {
    T square = 1;
    for (std::size_t i = 0; i < n_rows; i++) across[i] = 0;
    for (int turn = 0; turn < 2 && (turn == 0 || square < T(0.25)); turn++) {  // once more takes off what rounding left
        dots(x, rows, stride, n_rows, stride, parts);
        for (std::size_t i = 0; i < n_rows; i++) across[i] += parts[i];
        Vec<T> squares{};
        for (std::size_t k = 0; k < stride; k += kLanes<T>) {
            Vec<T> rest = load(x + k);
            for (std::size_t i = 0; i < n_rows; i++) rest = fnma(splat(parts[i]), load(rows + i * stride + k), rest);
            store(x + k, rest);
            squares = fma(rest, rest, squares);
        }
        square = lane_sum<T>(squares);
    }
    return square;
}

// A matrix with rows of whole vectors, of which any number may be in use.
template <class T>
struct Matrix {
    Matrix(std::size_t rows, std::size_t most_columns, Filled filled = Filled::zeros)
        : stride(round_up(most_columns, kLanes<T>)), data(rows * stride, filled) {}
    T* row(std::size_t i) { return data.data() + i * stride; }
    const T* row(std::size_t i) const { return data.data() + i * stride; }

    std::size_t stride;
    Buffer<T> data;
};

// Rows that somebody else owns.
template <class T>
struct RowsView {
    const T* row(std::size_t i) const { return data + i * stride; }

    const T* data;
    std::size_t stride;
};

struct Range {
    std::size_t begin, end;
};

// out = sum over r in `over` of factors[r * step] times row r, in `columns`, which begin and end with whole vectors.
template <int V, class T, class Rows>
inline void combine_part(const T* factors, std::size_t step, const Rows& rows, Range over, std::size_t first, T* out) {
    Vec<T> sums[V];
    for (int v = 0; v < V; v++) sums[v] = Vec<T>{};
    const T* at = rows.row(over.begin) + first;
    for (std::size_t r = over.begin; r < over.end; r++, at += rows.stride) {
        const Vec<T> f = splat(factors[r * step]);
#pragma GCC unroll 8
        for (int v = 0; v < V; v++) sums[v] = fma(f, load(at + std::size_t(v) * kLanes<T>), sums[v]);
    }
    for (int v = 0; v < V; v++) store(out + first + std::size_t(v) * kLanes<T>, sums[v]);
}
template <class T, class Rows>
inline void combine(const T* factors, std::size_t step, const Rows& rows, Range over, Range columns, T* out) {
    constexpr std::size_t lanes = kLanes<T>;
    std::size_t x = columns.begin;
    for (; x + 8 * lanes <= columns.end; x += 8 * lanes) combine_part<8>(factors, step, rows, over, x, out);
    for (; x + 4 * lanes <= columns.end; x += 4 * lanes) combine_part<4>(factors, step, rows, over, x, out);
    for (; x + 2 * lanes <= columns.end; x += 2 * lanes) combine_part<2>(factors, step, rows, over, x, out);
    for (; x < columns.end; x += lanes) combine_part<1>(factors, step, rows, over, x, out);
}

}  // namespace epitomes::EPITOMES_ISA
