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
          sums_(rows_.stride * (exact ? m : 1)), eigen_(exact ? m : 1), work_(exact ? m * eigen_.stride() : 1) {}

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
        clear(work_.data(), work_.size());
        for (std::size_t k = 0; k < m_; k++)
            for (std::size_t l = k; l < m_; l++) work_[k * eigen_.stride() + l] = work_[l * eigen_.stride() + k] = sums_[k * wide + l];
        double trace = 0;
        for (std::size_t k = 0; k < m_; k++) trace += work_[k * eigen_.stride() + k];
        if (!(trace > 0)) return false;
        // The largest eigenvalue is not below their mean.
        const std::size_t found = eigen_.run(work_.data(), m_, 0.999 * trace / double(m_));
        std::size_t best = 0;
        for (std::size_t k = 1; k < found; k++) best = eigen_.values()[k] > eigen_.values()[best] ? k : best;
        if (found == 0 || !(eigen_.values()[best] > 0)) return false;
        const double* vector = eigen_.vector(best);
        double along = 0;
        for (std::size_t k = 0; k < m_; k++) along += vector[k] * double(atom_[k]);
        for (std::size_t k = 0; k < m_; k++) atom_[k] = T(along < 0 ? -vector[k] : vector[k]);
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
