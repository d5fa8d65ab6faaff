// The contract between the kernels and whoever calls them: views of arrays, parameters, codes, and the engine.
// Nothing here depends on an instruction set. Rows are signals; a code lists the atoms of a row in rising order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace epitomes {

// A picture whose windows are atoms: height x width x channels, C order.
template <class T>
struct Picture {
    const T* pixels;
    std::size_t height, width;
};

// What an engine is made of. `unit` holds p atoms of m pixels with norm one, or zero.
// With pictures, the atoms are all their (patch_height, patch_width, channels) windows, in row order, one picture after
// another, divided by `norms`.
template <class T>
struct AtomsView {
    const T* unit;
    const T* norms;
    std::size_t p, m;
    const Picture<T>* pictures;
    std::size_t n_pictures, patch_height, patch_width, channels;
    bool dense_gram;
};

// Patches in memory. `mask` (n, m) is null, or non-zero where a pixel is known.
template <class T>
struct Rows {
    const T* data;
    const std::uint8_t* mask;
    std::size_t n;
};

// Patches that are windows of an image: `tops` are the rows of the n_tops x n_across grid, columns follow each other.
// `image` has had a grey level taken off, which keeps float32 sums small; `centred` takes the rest of each mean off.
template <class T>
struct Windows {
    const T* image;
    std::size_t stride;  // values from one image row to the next
    const std::int64_t* tops;
    std::size_t n_across;
    std::size_t first, last;  // the range of patches to code
    bool centred;
};

// Warm start: codes of the same rows, compressed by rows, on unit atoms. Null when cold.
template <class T>
struct Start {
    const std::int64_t* begin;
    const std::int32_t* atoms;
    const T* values;
};

// A flag that another thread may raise; kernels look at it often and return early.
struct Stop {
    const std::uint8_t* flag;
    bool raised() const { return flag != nullptr && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0; }
};

struct Pursuit {
    double residual;        // stop once |x - aD|^2 <= residual
    std::size_t n_nonzero;  // or once this many atoms are used
    bool least_squares;     // choose by the decrease of the residual (OLS) instead of the correlation (OMP)
};

struct Lasso {
    double lam, tol;
    bool positive;
};

// Owned by the caller, who frees each array with std::free.
template <class T>
struct Codes {
    std::int32_t* counts;
    std::int32_t* atoms;
    T* values;
    std::size_t n_rows, n_values;
};

// The solution path of one patch: n_knots values of lam, and the code at each of them.
template <class T>
struct Path {
    double* lams;
    Codes<T> codes;
};

// A dictionary made ready for coding. Immutable, so threads may share it.
template <class T>
class Engine {
   public:
    virtual ~Engine() = default;
    virtual bool structural() const = 0;  // whether windows are correlated without copying them into rows
    virtual Codes<T> pursue(const Rows<T>&, const Pursuit&, Stop) const = 0;
    virtual Codes<T> pursue(const Windows<T>&, const Pursuit&, Stop) const = 0;
    virtual Codes<T> lasso(const Rows<T>&, const Lasso&, const Start<T>&, Stop) const = 0;
    virtual Codes<T> lasso(const Windows<T>&, const Lasso&, const Start<T>&, Stop) const = 0;
    virtual Codes<T> lasso_lars(const Rows<T>&, const Lasso&, Stop) const = 0;
    virtual Codes<T> lasso_lars(const Windows<T>&, const Lasso&, Stop) const = 0;
    virtual Path<T> path(const T* row, const Lasso&) const = 0;
    // Correlations (n, p) with the unit atoms. With `out` null they are computed and dropped, which times the kernel.
    virtual void correlate(const Rows<T>&, T* out) const = 0;
    virtual void correlate(const Windows<T>&, T* out) const = 0;
};

// Copies n patches into rows (n, m), takes their means off if asked, and stores the means.
template <class T>
using Gather = void (*)(const T* image, const std::int64_t* starts, std::size_t n, const std::int64_t* offsets,
                        std::size_t m, bool centre, T* rows, T* means);

// Adds n weighted rows back to the image, in the order of the rows.
template <class T>
using Scatter = void (*)(double* total, double* weight, const std::int64_t* starts, std::size_t n,
                         const std::int64_t* offsets, std::size_t m, const T* rows, const T* weights);

// Adds coded rows (n, m) to the sums of the atoms first to last - 1: gram (p, p), cross (p, m), mass (p).
template <class T>
using Summarise = void (*)(const T* rows, std::size_t n, std::size_t m, const Start<T>& codes, std::size_t first, std::size_t last,
                           std::size_t p, double* gram, double* cross, double* mass);

// out (n, width) = left (n, inner) times right (inner, width).
using Multiply = void (*)(const double* left, std::size_t n, std::size_t inner, const double* right, std::size_t width, double* out);

template <class T>
struct Kernels {
    std::unique_ptr<Engine<T>> (*make_engine)(const AtomsView<T>&);
    Gather<T> gather;
    Scatter<T> scatter;
    Summarise<T> summarise;
};

// One compiled instruction set.
struct Isa {
    const char* name;
    Kernels<float> single;
    Kernels<double> full;
    Multiply multiply;
};

// The compiled sets that this processor can run, best last; `count` receives how many.
const Isa* const* runnable_isas(std::size_t* count);

}  // namespace epitomes
