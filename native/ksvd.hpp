// K-SVD: one atom after another, each with the coefficients of the rows that use it. Later atoms see what earlier ones
// changed, so the atoms are a sequence; all sums run in the order of the rows.
#pragma once

#include <cmath>

#include "eigen.hpp"
#include "engine.hpp"

namespace epitomes::EPITOMES_ISA {

template <class T>
class AtomUpdates {
   public:
    AtomUpdates(std::size_t m, std::size_t most_users, bool exact)
        : m_(m), exact_(exact), rows_(most_users, m), atom_(rows_.stride), part_(rows_.stride * (exact ? m : 1)),
          sums_(rows_.stride * (exact ? m : 1)), basis_(exact ? kBasis : 1, rows_.stride), next_(rows_.stride),
          eigen_(kBasis), work_(kBasis * eigen_.stride()) {}

    // The rows of `residual` named by `users`, coded by `values` times the unit atom, get a better atom and better values.
    void run(T* residual, const std::int32_t* users, T* values, std::size_t n, T* atom) {
        std::memcpy(atom_.data(), atom, m_ * sizeof(T));
        for (std::size_t i = 0; i < n; i++) {
            T* row = rows_.row(i);
            std::memcpy(row, residual + std::size_t(users[i]) * m_, m_ * sizeof(T));
            add_scaled(values[i], atom_.data(), row, rows_.stride);
        }
        if (!(exact_ ? leading(n) : weighted(values, n))) return;  // nothing to explain: everything stays
        for (std::size_t i = 0; i < n; i++) {
            T* row = rows_.row(i);
            values[i] = dot(row, atom_.data(), rows_.stride);
            add_scaled(-values[i], atom_.data(), row, rows_.stride);
            std::memcpy(residual + std::size_t(users[i]) * m_, row, m_ * sizeof(T));
        }
        std::memcpy(atom, atom_.data(), m_ * sizeof(T));
    }

   private:
    static constexpr std::size_t kAtOnce = 256;  // rows whose sum is short enough for single precision
    static constexpr std::size_t kBasis = 12;    // vectors of Lanczos' method
    static constexpr int kRounds = 50;           // of it, at most: several eigenvalues may be nearly the largest
    static constexpr double kDone = sizeof(T) == 4 ? 1e-7 : 1e-12;  // residual of an eigenvector, over its eigenvalue

    // One step of the power method: the rows, weighted by their values.
    bool weighted(const T* values, std::size_t n) {
        const std::size_t wide = rows_.stride;
        clear(sums_.data(), wide);
        for (std::size_t first = 0; first < n; first += kAtOnce) {
            clear(part_.data(), wide);
            for (std::size_t i = first; i < n && i < first + kAtOnce; i++) add_scaled(values[i], rows_.row(i), part_.data(), wide);
            for (std::size_t k = 0; k < wide; k++) sums_[k] += double(part_[k]);
        }
        double energy = 0;
        for (std::size_t k = 0; k < m_; k++) energy += sums_[k] * sums_[k];
        if (!(energy > 0)) return false;
        const double by = 1 / std::sqrt(energy);
        for (std::size_t k = 0; k < m_; k++) atom_[k] = T(sums_[k] * by);
        return true;
    }

    // The first right singular vector: the eigenvector of the largest eigenvalue of E'E.
    bool leading(std::size_t n) {
        const std::size_t wide = rows_.stride;
        clear(sums_.data(), m_ * wide);
        for (std::size_t first = 0; first < n; first += kAtOnce) {
            clear(part_.data(), m_ * wide);
            for (std::size_t i = first; i < n && i < first + kAtOnce; i++) {
                const T* row = rows_.row(i);
                for (std::size_t k = 0; k < m_; k++) {
                    const std::size_t from = k / kLanes<T> * kLanes<T>;  // the matrix is symmetric: half of it is enough
                    add_scaled(row[k], row + from, part_.data() + k * wide + from, wide - from);
                }
            }
            for (std::size_t k = 0; k < m_ * wide; k++) sums_[k] += double(part_[k]);
        }
        double trace = 0;
        for (std::size_t k = 0; k < m_; k++) {
            trace += sums_[k * wide + k];
            for (std::size_t l = 0; l < k; l++) sums_[k * wide + l] = sums_[l * wide + k];
        }
        return trace > 0 && largest(trace);
    }

    // The eigenvector of the largest eigenvalue of `sums_`, into the atom, by Lanczos' method: a basis of a few products with
    // the matrix, in which the problem is small; again from its solution until that is one of the whole. All eigenvectors
    // would take five times as long.
    bool largest(double trace) {
        const std::size_t wide = rows_.stride, most = std::min(kBasis, m_);
        std::uint32_t state = 1;
        for (std::size_t k = 0; k < m_; k++) {  // a little of every direction, lest the best one be missing
            state = 1664525u * state + 1013904223u;
            next_[k] = double(atom_[k]) + 1e-2 * (double(state >> 8) / (1 << 23) - 1);
        }
        double left = trace, value = 0;
        for (int round = 0; round < kRounds && left > kDone * value; round++) {
            clear(work_.data(), work_.size());
            std::size_t n = 0;
            double norm = std::sqrt(dot(next_.data(), next_.data(), wide));
            while (true) {
                double* q = basis_.row(n);
                for (std::size_t k = 0; k < wide; k++) q[k] = next_[k] / norm;
                clear(next_.data(), wide);
                for (std::size_t k = 0; k < m_; k++) add_scaled(q[k], sums_.data() + k * wide, next_.data(), wide);
                work_[n * eigen_.stride() + n] = dot(q, next_.data(), wide);
                for (int pass = 0; pass < 2; pass++)  // twice: once leaves what rounding brings back
                    for (std::size_t i = 0; i <= n; i++) add_scaled(-dot(basis_.row(i), next_.data(), wide), basis_.row(i), next_.data(), wide);
                norm = std::sqrt(dot(next_.data(), next_.data(), wide));
                if (++n == most || !(norm > 1e-14 * trace)) break;
                work_[(n - 1) * eigen_.stride() + n] = work_[n * eigen_.stride() + n - 1] = norm;
            }
            const std::size_t found = eigen_.run(work_.data(), n, -1);
            std::size_t best = 0;
            for (std::size_t k = 1; k < found; k++) best = eigen_.values()[k] > eigen_.values()[best] ? k : best;
            if (found == 0 || !(eigen_.values()[best] > 0)) return false;
            value = eigen_.values()[best];
            const double* part = eigen_.vector(best);
            left = norm * std::abs(part[n - 1]);
            clear(next_.data(), wide);
            for (std::size_t i = 0; i < n; i++) add_scaled(part[i], basis_.row(i), next_.data(), wide);
        }
        double along = 0;
        for (std::size_t k = 0; k < m_; k++) along += next_[k] * double(atom_[k]);
        const double by = (along < 0 ? -1 : 1) / std::sqrt(dot(next_.data(), next_.data(), wide));
        for (std::size_t k = 0; k < m_; k++) atom_[k] = T(next_[k] * by);
        return true;
    }

    template <class S>
    static void clear(S* values, std::size_t n) {
        std::memset(values, 0, n * sizeof(S));
    }

    std::size_t m_;
    bool exact_;
    Matrix<T> rows_;
    Buffer<T> atom_, part_;
    Buffer<double> sums_;
    Matrix<double> basis_;
    Buffer<double> next_;
    Eigen<double> eigen_;
    Buffer<double> work_;
};

// Codes are compressed by atoms: `begin` (p + 1), `users` in rising order, `values`. Changes residual, values and atoms.
template <class T>
void update_atoms(T* residual, std::size_t m, const std::int64_t* begin, const std::int32_t* users, T* values, T* atoms, std::size_t p,
                  bool exact, Stop stop) {
    std::int64_t most = 0;
    for (std::size_t j = 0; j < p; j++) most = begin[j + 1] - begin[j] > most ? begin[j + 1] - begin[j] : most;
    if (most == 0) return;
    AtomUpdates<T> updates(m, std::size_t(most), exact);
    for (std::size_t j = 0; j < p && !stop.raised(); j++) {
        const std::size_t n = std::size_t(begin[j + 1] - begin[j]);
        if (n > 0) updates.run(residual, users + begin[j], values + begin[j], n, atoms + j * m);
    }
}

}  // namespace epitomes::EPITOMES_ISA
