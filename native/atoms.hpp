// A dictionary laid out for the kernels. Atoms live in "slots": the order in which correlations lie in memory.
// Without pictures a slot is an atom. With pictures, the structural kernel keeps neighbouring window rows in the lanes of
// one vector, and slots follow its vectors. Slots past the last atom hold zeros.
#pragma once

#include "engine.hpp"
#include "memory.hpp"

namespace epitomes::EPITOMES_ISA {

constexpr std::size_t kWide = 3;       // picture columns that the structural kernel takes at once
constexpr std::size_t kMostTerms = 7;  // partial sums that make a window in the structural kernel

// All pictures of one width: their window rows, stacked, share vectors.
template <class T>
struct Band {
    std::size_t width, across;   // pixels across a picture; windows across it
    std::size_t wide;            // width, rounded up with columns of zeros
    std::size_t rows, vectors;   // stacked window rows; vectors that hold them
    std::size_t first_slot;
    Buffer<T> columns;           // [vectors][wide][patch_height * channels][lanes]: pixel columns of the windows

    // A vector of window rows fills slots column after column; the last vector may hold fewer rows, and then takes only
    // as many slots per column as it has rows.
    std::size_t slots_per_column(std::size_t vector) const {
        const std::size_t left = rows - vector * kLanes<T>;
        return left < kLanes<T> ? left : kLanes<T>;
    }
    std::size_t slot(std::size_t vector, std::size_t u) const {
        return first_slot + vector * kLanes<T> * across + u * slots_per_column(vector);
    }
};

template <class T>
struct Atoms {
    std::size_t p, m, padded;     // atoms, pixels, slots (a multiple of two vectors)
    std::size_t patch_height = 0, patch_width = 0, channels = 0;
    Buffer<std::int32_t> atom_of_slot, slot_of_atom;
    Buffer<T> packed;             // [padded / 2 lanes][m][2 lanes]: unit atoms for the GEMM micro-kernel
    Buffer<T> unit;               // [p][m]: unit atoms in the order of the slots
    Buffer<T> inverse_norm, sum;  // [padded]: 1 / |d|, and the sum of the unit atom's pixels
    Buffer<Band<T>> bands;
    std::size_t n_bands = 0;

    ~Atoms() {
        for (std::size_t b = 0; b < n_bands; b++) bands[b].~Band<T>();
    }
    // Room for one vector past the last atom: the structural kernel writes whole vectors of window rows.
    explicit Atoms(const AtomsView<T>& view)
        : p(view.p), m(view.m), padded(round_up(view.p + (view.n_pictures > 0 ? kLanes<T> - 1 : 0), 2 * kLanes<T>)) {
        atom_of_slot = Buffer<std::int32_t>(padded);
        slot_of_atom = Buffer<std::int32_t>(p);
        if (view.n_pictures > 0)
            lay_bands(view);
        else
            for (std::size_t j = 0; j < p; j++) atom_of_slot[j] = std::int32_t(j);
        for (std::size_t s = 0; s < p; s++) slot_of_atom[std::size_t(atom_of_slot[s])] = std::int32_t(s);
        pack(view);
    }
    Atoms(const Atoms&) = delete;
    Atoms& operator=(const Atoms&) = delete;

    // Whether box sums over the pictures cost less than plain products: fewer multiply-adds and sums per window.
    bool structural() const {
        const std::size_t terms = patch_width / 4 + patch_width % 4;
        if (n_bands == 0 || patch_width < 4 || terms > kMostTerms) return false;
        std::size_t box = 0;
        for (std::size_t b = 0; b < n_bands; b++)
            box += bands[b].vectors * (bands[b].width * (patch_height * channels + 4) + bands[b].across * (terms + 3));
        return box * kLanes<T> * 5 < padded * m * 4;
    }

   private:
    void pack(const AtomsView<T>& view) {
        constexpr std::size_t tile = 2 * kLanes<T>;
        packed = Buffer<T>(padded * m);
        unit = Buffer<T>(p * m);
        inverse_norm = Buffer<T>(padded + tile);
        sum = Buffer<T>(padded + tile);
        for (std::size_t s = 0; s < p; s++) {
            const T* atom = view.unit + std::size_t(atom_of_slot[s]) * m;
            std::memcpy(unit.data() + s * m, atom, m * sizeof(T));
            double total = 0;
            for (std::size_t k = 0; k < m; k++) {
                packed[(s / tile * m + k) * tile + s % tile] = atom[k];
                total += double(atom[k]);
            }
            const T norm = view.norms[std::size_t(atom_of_slot[s])];
            inverse_norm[s] = norm > 0 ? T(1) / norm : T(0);
            sum[s] = T(total);
        }
    }

    void lay_bands(const AtomsView<T>& view) {
        patch_height = view.patch_height;
        patch_width = view.patch_width;
        channels = view.channels;
        bands = Buffer<Band<T>>(view.n_pictures);
        Buffer<std::uint8_t> done(view.n_pictures);
        std::size_t slot = 0;
        for (std::size_t q = 0; q < view.n_pictures; q++) {
            if (done[q]) continue;
            Band<T>* band = new (&bands[n_bands]) Band<T>();
            n_bands++;
            band->width = view.pictures[q].width;
            band->across = band->width - patch_width + 1;
            band->first_slot = slot;
            for (std::size_t o = q; o < view.n_pictures; o++)
                if (view.pictures[o].width == band->width) {
                    done[o] = 1;
                    band->rows += view.pictures[o].height - patch_height + 1;
                }
            fill_band(view, *band);
            slot += band->rows * band->across;
        }
    }

    void fill_band(const AtomsView<T>& view, Band<T>& band) {
        constexpr std::size_t lanes = kLanes<T>;
        const std::size_t tall = patch_height * channels, line = band.width * channels;
        band.vectors = round_up(band.rows, lanes) / lanes;
        band.wide = round_up(band.width, kWide);
        band.columns = Buffer<T>(band.vectors * band.wide * tall * lanes);
        std::size_t row = 0, atom = 0;
        for (std::size_t q = 0; q < view.n_pictures; q++) {
            const Picture<T>& picture = view.pictures[q];
            const std::size_t down = picture.height - patch_height + 1;
            if (picture.width == band.width)
                for (std::size_t v = 0; v < down; v++, row++) {
                    for (std::size_t u = 0; u < band.across; u++)
                        atom_of_slot[band.slot(row / lanes, u) + row % lanes] = std::int32_t(atom + v * band.across + u);
                    for (std::size_t x = 0; x < band.width; x++)
                        for (std::size_t k = 0; k < tall; k++)
                            band.columns[((row / lanes * band.wide + x) * tall + k) * lanes + row % lanes] =
                                picture.pixels[(v + k / channels) * line + x * channels + k % channels];
                }
            atom += down * (picture.width - patch_width + 1);
        }
    }
};

}  // namespace epitomes::EPITOMES_ISA
