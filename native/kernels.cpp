// The engine of one instruction set. This file is compiled once per set, with EPITOMES_ISA naming it.
#include "coding.hpp"
#include "conditional.hpp"
#include "groups.hpp"
#include "ksvd.hpp"
#include "matching.hpp"
#include "moments.hpp"
#include "motion.hpp"
#include "regression.hpp"
#include "ridge.hpp"
#include "transform_groups.hpp"
#include "wiener.hpp"

namespace epitomes::EPITOMES_ISA {
namespace {

template <class T>
struct Knots {
    explicit Knots(const Atoms<T>& atoms) : sink(atoms, 16) {}
    template <class V>
    void add(double lam, std::size_t n, const std::int32_t* slots, const V* values) {
        lams.push(lam);
        sink.add(n, slots, values);
    }
    Growing<double> lams;
    Sink<T> sink;
};

template <class T>
class NativeEngine final : public Engine<T> {
   public:
    explicit NativeEngine(const AtomsView<T>& view) : atoms_(view) {
        if (!view.dense_gram) return;
        gram_ = Buffer<T>(atoms_.p * atoms_.padded, Filled::nothing);
        const T* rows[kBlock];
        for (std::size_t s = 0; s < atoms_.p; s += kBlock) {
            const std::size_t n = atoms_.p - s < kBlock ? atoms_.p - s : kBlock;
            for (std::size_t i = 0; i < n; i++) rows[i] = atoms_.unit.data() + (s + i) * atoms_.m;
            correlate_rows(atoms_, atoms_.packed.data(), rows, n, gram_.data() + s * atoms_.padded);
        }
    }

    bool structural() const override { return atoms_.structural(); }

    Codes<T> pursue(const Rows<T>& rows, const Pursuit& pursuit, Stop stop) const override {
        if (rows.mask != nullptr) return pursuit.least_squares ? pursue_known<true>(rows, pursuit, stop) : pursue_known<false>(rows, pursuit, stop);
        PursuitCoder<T> coder(atoms_, pursuit);
        return code(rows, coder, stop);
    }
    Codes<T> pursue(const Windows<T>& windows, const Pursuit& pursuit, Stop stop) const override {
        PursuitCoder<T> coder(atoms_, pursuit);
        return code(windows, coder, stop);
    }
    Codes<T> lasso(const Rows<T>& rows, const Lasso& lasso, const Start<T>& start, Stop stop) const override {
        LassoCoder<T> coder(atoms_, lasso, start, stop);
        return rows.mask != nullptr ? code_masked(atoms_, rows, coder, stop) : code(rows, coder, stop);
    }
    Codes<T> lasso(const Windows<T>& windows, const Lasso& lasso, const Start<T>& start, Stop stop) const override {
        LassoCoder<T> coder(atoms_, lasso, start, stop);
        return code(windows, coder, stop);
    }
    Codes<T> lasso_lars(const Rows<T>& rows, const Lasso& lasso, Stop stop) const override {
        LarsCoder<T> coder(atoms_, lasso, stop);
        return code(rows, coder, stop);
    }
    Codes<T> lasso_lars(const Windows<T>& windows, const Lasso& lasso, Stop stop) const override {
        LarsCoder<T> coder(atoms_, lasso, stop);
        return code(windows, coder, stop);
    }

    Path<T> path(const T* row, const Lasso& lasso) const override {
        LarsSolver<T> solver(atoms_, lasso, Stop{nullptr});
        Knots<T> knots(atoms_);
        Buffer<T> correlations(atoms_.padded);
        const T* rows[1] = {row};
        correlate_rows(atoms_, atoms_.packed.data(), rows, 1, correlations.data());
        with_gram([&](auto& gram) { return solver.solve(correlations.data(), row_energy(row, atoms_.m), gram, knots); });
        return Path<T>{knots.lams.release(), knots.sink.release()};
    }

    void correlate(const Rows<T>& rows, T* out) const override {
        Buffer<T> correlations(kBlock * atoms_.padded, Filled::nothing);
        const T* block[kBlock];
        for (std::size_t first = 0; first < rows.n; first += kBlock) {
            const std::size_t n = rows.n - first < kBlock ? rows.n - first : kBlock;
            for (std::size_t i = 0; i < n; i++) block[i] = rows.data + (first + i) * atoms_.m;
            correlate_rows(atoms_, atoms_.packed.data(), block, n, correlations.data());
            if (out != nullptr) unpack(correlations.data(), n, out + first * atoms_.p);
        }
    }
    void correlate(const Windows<T>& windows, T* out) const override {
        WindowMeasures<T> measures(atoms_, windows);
        WindowCorrelator<T> correlator(atoms_);
        Buffer<T> correlations(kRun * atoms_.padded + 2 * kLanes<T>, Filled::nothing);
        for (std::size_t i = windows.first; i < windows.last;) {
            const std::size_t y = i / windows.n_across, x = i % windows.n_across;
            std::size_t n = windows.n_across - x < kRun ? windows.n_across - x : kRun;
            n = windows.last - i < n ? windows.last - i : n;
            measures.measure(y, x, x + n);
            correlator.run(measures.at(y, x), windows.stride, n, measures.means.data() + x, correlations.data());
            if (out != nullptr) unpack(correlations.data(), n, out + (i - windows.first) * atoms_.p);
            i += n;
        }
    }

   private:
    template <bool LeastSquares>
    Codes<T> pursue_known(const Rows<T>& rows, const Pursuit& pursuit, Stop stop) const {
        Sink<T> sink(atoms_, rows.n);
        MaskedPursuit<T, LeastSquares>(atoms_, pursuit, gram_.size() > 0 ? gram_.data() : nullptr).run(rows, stop, sink);
        return sink.release();
    }
    template <class Work>
    auto with_gram(Work work) const {
        if (gram_.size() > 0) {
            DenseGram<T> gram(gram_.data(), atoms_.padded);
            return work(gram);
        }
        LazyGram<T> gram(atoms_);
        return work(gram);
    }
    template <class Coder>
    Codes<T> code(const Rows<T>& rows, Coder& coder, Stop stop) const {
        return with_gram([&](auto& gram) { return code_rows(atoms_, gram, rows, coder, stop); });
    }
    template <class Coder>
    Codes<T> code(const Windows<T>& windows, Coder& coder, Stop stop) const {
        return with_gram([&](auto& gram) { return code_windows(atoms_, gram, windows, coder, stop); });
    }
    void unpack(const T* correlations, std::size_t n, T* out) const {
        for (std::size_t i = 0; i < n; i++)
            for (std::size_t s = 0; s < atoms_.p; s++)
                out[i * atoms_.p + std::size_t(atoms_.atom_of_slot[s])] = correlations[i * atoms_.padded + s];
    }

    Atoms<T> atoms_;
    Buffer<T> gram_;
};

template <class T>
std::unique_ptr<Engine<T>> make_engine(const AtomsView<T>& view) {
    return std::unique_ptr<Engine<T>>(new NativeEngine<T>(view));
}

}  // namespace

#define EPITOMES_TEXT(x) #x
#define EPITOMES_NAME(x) EPITOMES_TEXT(x)

extern const Isa isa;
const Isa isa = {EPITOMES_NAME(EPITOMES_ISA),
                 {make_engine<float>, gather<float>, scatter<float>, summarise<float>, update_atoms<float>},
                 {make_engine<double>, gather<double>, scatter<double>, summarise<double>, update_atoms<double>},
                 multiply,
                 match,
                 shrink_groups,
                 filter_groups,
                 combine_groups,
                 transform_groups,
                 complete_groups,
                 decompose,
                 regress,
                 compare_squares,
                 atom_products};

}  // namespace epitomes::EPITOMES_ISA
