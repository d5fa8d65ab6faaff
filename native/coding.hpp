// The loops around the solvers: which patches need work, their correlations in blocks, their codes in order.
#pragma once

#include "lasso_lars.hpp"
#include "masked.hpp"
#include "patches.hpp"

namespace epitomes::EPITOMES_ISA {

// Collects codes: slots become atoms, in rising order, without zeros.
template <class T>
class Sink {
   public:
    Sink(const Atoms<T>& atoms, std::size_t n_expected) : atoms_(atoms) {
        counts_.reserve(n_expected > 0 ? n_expected : 1);
        found_.reserve(4 * n_expected + 16);
        values_.reserve(4 * n_expected + 16);
    }
    template <class V>
    void add(std::size_t n, const std::int32_t* slots, const V* values) {
        std::int32_t* atoms = found_.extend(n);
        T* coefficients = values_.extend(n);
        std::size_t n_used = 0;
        for (std::size_t k = 0; k < n; k++) {
            if (values[k] == V(0)) continue;
            // Counting the smaller ones costs more comparisons than sorting, but no branch that can be guessed wrong.
            const std::int32_t atom = atoms_.atom_of_slot[std::size_t(slots[k])];
            std::size_t place = 0;
            for (std::size_t l = 0; l < n; l++)
                place += std::size_t(atoms_.atom_of_slot[std::size_t(slots[l])] < atom && values[l] != V(0));
            atoms[place] = atom;
            coefficients[place] = T(values[k]);
            n_used++;
        }
        found_.shorten(n - n_used);
        values_.shorten(n - n_used);
        counts_.push(std::int32_t(n_used));
    }
    void add_empty() { counts_.push(0); }
    Codes<T> release() {
        Codes<T> codes{};
        codes.n_rows = counts_.size();
        codes.n_values = found_.size();
        codes.counts = counts_.release();
        codes.atoms = found_.release();
        codes.values = values_.release();
        return codes;
    }

   private:
    const Atoms<T>& atoms_;
    Growing<std::int32_t> counts_, found_;
    Growing<T> values_;
};

// A coder gives: is_empty(energy); and code(i, correlations, energy, gram), which returns how many of its slots() and
// values() are the code.
template <class T>
struct PursuitCoder {
    PursuitSolver<T> solver;
    PursuitCoder(const Atoms<T>& atoms, const Pursuit& pursuit) : solver(atoms, pursuit) {}
    bool is_empty(T energy) const { return solver.is_empty(energy); }
    template <class Gram>
    std::size_t code(std::size_t, T* c, T energy, Gram& gram) {
        return solver.solve(c, energy, gram);
    }
    const std::int32_t* slots() const { return solver.slots.data(); }
    const T* values() const { return solver.values.data(); }
};

template <class T>
struct LarsCoder {
    LarsSolver<T> solver;
    LarsCoder(const Atoms<T>& atoms, const Lasso& lasso, Stop stop) : solver(atoms, lasso, stop) {}
    bool is_empty(T energy) const { return solver.is_empty(energy); }
    template <class Gram>
    std::size_t code(std::size_t, const T* c, T energy, Gram& gram) {
        NoKnots<T> none;
        return solver.solve(c, energy, gram, none);
    }
    const std::int32_t* slots() const { return solver.slots(); }
    const T* values() const { return solver.values(); }
};

template <class T>
struct LassoCoder {
    const Atoms<T>& atoms;
    Lasso lasso;
    Start<T> start;
    Stop stop;
    LassoSolver<T> solver;
    std::unique_ptr<LarsCoder<T>> rescue;  // follows the whole path where the active set went in circles
    bool is_rescued = false;

    LassoCoder(const Atoms<T>& atoms_, const Lasso& lasso_, const Start<T>& start_, Stop stop_)
        : atoms(atoms_), lasso(lasso_), start(start_), stop(stop_), solver(atoms_, lasso_, stop_) {}
    bool is_empty(T energy) const { return solver.is_empty(energy); }
    template <class Gram>
    std::size_t code(std::size_t i, const T* c, T energy, Gram& gram) {
        std::size_t n = 0;
        if (start.begin != nullptr)
            for (std::int64_t k = start.begin[i]; k < start.begin[i + 1] && n < solver.capacity(); k++, n++) {
                solver.slots[n] = atoms.slot_of_atom[std::size_t(start.atoms[k])];
                solver.values[n] = start.values[k];
            }
        n = solver.solve(c, energy, n, gram);
        is_rescued = !solver.is_optimal() && !stop.raised();
        if (!is_rescued) return n;
        if (rescue == nullptr) rescue.reset(new LarsCoder<T>(atoms, lasso, stop));
        return rescue->code(i, c, energy, gram);
    }
    const std::int32_t* slots() const { return is_rescued ? rescue->slots() : solver.slots.data(); }
    const T* values() const { return is_rescued ? rescue->values() : solver.values.data(); }
};

template <class T, class Coder, class Gram>
Codes<T> code_rows(const Atoms<T>& atoms, Gram& gram, const Rows<T>& rows, Coder& coder, Stop stop) {
    Sink<T> sink(atoms, rows.n);
    Buffer<T> correlations(kBlock * atoms.padded, Filled::nothing);
    const T* working[kBlock];
    T energies[kBlock];
    for (std::size_t first = 0; first < rows.n && !stop.raised(); first += kBlock) {
        const std::size_t n = rows.n - first < kBlock ? rows.n - first : kBlock;
        std::size_t n_working = 0;
        for (std::size_t i = 0; i < n; i++) {
            const T* row = rows.data + (first + i) * atoms.m;
            energies[i] = row_energy(row, atoms.m);
            if (!coder.is_empty(energies[i])) working[n_working++] = row;
        }
        correlate_rows(atoms, atoms.packed.data(), working, n_working, correlations.data());
        T* c = correlations.data();
        for (std::size_t i = 0; i < n && !stop.raised(); i++) {
            if (coder.is_empty(energies[i])) {
                sink.add_empty();
                continue;
            }
            const std::size_t found = coder.code(first + i, c, energies[i], gram);
            sink.add(found, coder.slots(), coder.values());
            c += atoms.padded;
        }
        gram.tidy();
    }
    return sink.release();
}

// Patches with unknown pixels, by the lasso: one at a time, because each has a Gram matrix of its own. The penalty keeps
// the norms of the whole atoms.
template <class T>
Codes<T> code_masked(const Atoms<T>& atoms, const Rows<T>& rows, LassoCoder<T>& coder, Stop stop) {
    Sink<T> sink(atoms, rows.n);
    LazyGram<T> gram(atoms);
    Buffer<T> correlations(atoms.padded), values(atoms.m);
    Buffer<std::int32_t> places(atoms.m);
    for (std::size_t i = 0; i < rows.n && !stop.raised(); i++) {
        const std::uint8_t* mask = rows.mask + i * atoms.m;
        std::size_t n_known = 0;
        for (std::size_t k = 0; k < atoms.m; k++) {
            if (!mask[k]) continue;
            values[n_known] = rows.data[i * atoms.m + k];
            places[n_known++] = std::int32_t(k);
        }
        const T energy = row_energy(values.data(), n_known);
        if (n_known == 0 || coder.is_empty(energy)) {
            sink.add_empty();
            continue;
        }
        correlate_known(atoms, {rows.data + i * atoms.m, places.data(), n_known}, correlations.data());
        gram.begin(places.data(), n_known);
        const std::size_t n = coder.code(i, correlations.data(), energy, gram);
        sink.add(n, coder.slots(), coder.values());
    }
    return sink.release();
}

// Means and energies of windows, by the same sums as rows in memory have.
template <class T>
class WindowMeasures {
   public:
    explicit WindowMeasures(const Atoms<T>& atoms, const Windows<T>& windows) : atoms_(atoms), windows_(windows) {
        row_ = Buffer<T>(atoms.m);
        means = Buffer<T>(windows.n_across);
        energies = Buffer<T>(windows.n_across);
    }
    Buffer<T> means, energies;  // of the windows in the current grid row

    // The windows `from` <= x < `to` of grid row `y`.
    void measure(std::size_t y, std::size_t from, std::size_t to) {
        const std::size_t line = atoms_.patch_width * atoms_.channels;
        for (std::size_t x = from; x < to; x++) {
            if (line == kLanes<T>) {
                measure_in_place(y, x);
                continue;
            }
            const T* window = at(y, x);
            for (std::size_t k = 0; k < atoms_.patch_height; k++)
                std::memcpy(row_.data() + k * line, window + k * windows_.stride, line * sizeof(T));
            means[x] = windows_.centred ? centre_row(row_.data(), atoms_.m) : T(0);
            energies[x] = row_energy(row_.data(), atoms_.m);
        }
    }
    // The same sums in the same order, where a row of the window is one vector: no copy needed.
    void measure_in_place(std::size_t y, std::size_t x) {
        const T* window = at(y, x);
        Vec<T> sums{}, squares{};
        if (windows_.centred)
            for (std::size_t k = 0; k < atoms_.patch_height; k++) sums += load(window + k * windows_.stride);
        means[x] = lane_sum<T>(sums) / T(atoms_.m);
        const Vec<T> mean = splat(means[x]);
        for (std::size_t k = 0; k < atoms_.patch_height; k++) {
            const Vec<T> pixels = load(window + k * windows_.stride) - mean;
            squares = fma(pixels, pixels, squares);
        }
        energies[x] = lane_sum<T>(squares);
    }
    const T* at(std::size_t y, std::size_t x) const {
        return windows_.image + std::size_t(windows_.tops[y]) * windows_.stride + x * atoms_.channels;
    }

   private:
    const Atoms<T>& atoms_;
    const Windows<T>& windows_;
    Buffer<T> row_;
};

template <class T, class Coder, class Gram>
Codes<T> code_windows(const Atoms<T>& atoms, Gram& gram, const Windows<T>& windows, Coder& coder, Stop stop) {
    Sink<T> sink(atoms, windows.last - windows.first);
    WindowMeasures<T> measures(atoms, windows);
    WindowCorrelator<T> correlator(atoms);
    Buffer<T> correlations(kRun * atoms.padded + 2 * kLanes<T>, Filled::nothing);
    for (std::size_t i = windows.first; i < windows.last && !stop.raised();) {
        const std::size_t y = i / windows.n_across, from = i % windows.n_across;
        const std::size_t left = windows.last - i, to = left < windows.n_across - from ? from + left : windows.n_across;
        measures.measure(y, from, to);
        for (std::size_t x = from; x < to && !stop.raised();) {
            if (coder.is_empty(measures.energies[x])) {
                sink.add_empty();
                x++;
                continue;
            }
            // A run ends at its last busy window before a gap that is dearer to cross than to begin anew.
            std::size_t end = x + 1;
            for (std::size_t next = end; next < to && next - x < kRun && next - end < atoms.patch_width; next++)
                if (!coder.is_empty(measures.energies[next])) end = next + 1;
            correlator.run(measures.at(y, x), windows.stride, end - x, measures.means.data() + x, correlations.data());
            for (T* c = correlations.data(); x < end && !stop.raised(); x++, c += atoms.padded) {
                if (coder.is_empty(measures.energies[x])) {
                    sink.add_empty();
                    continue;
                }
                const std::size_t n = coder.code(y * windows.n_across + x - windows.first, c, measures.energies[x], gram);
                sink.add(n, coder.slots(), coder.values());
            }
            gram.tidy();
        }
        i += to - from;
    }
    return sink.release();
}

}  // namespace epitomes::EPITOMES_ISA
