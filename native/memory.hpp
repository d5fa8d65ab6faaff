// Aligned memory with checked sizes. All that a kernel allocates comes from here, once per block of patches.
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>

#include "simd.hpp"

namespace epitomes::EPITOMES_ISA {

enum class Filled { zeros, nothing };

// A 64-byte aligned array that frees itself; zeros, unless all of it will be written before it is read.
template <class T>
class Buffer {
   public:
    Buffer() = default;
    explicit Buffer(std::size_t count, Filled filled = Filled::zeros) : size_(count) {
        std::size_t bytes;
        if (__builtin_mul_overflow(count, sizeof(T), &bytes) || __builtin_add_overflow(bytes, std::size_t(128), &bytes))
            throw std::bad_alloc();
        bytes = bytes / 64 * 64;
        data_ = static_cast<T*>(std::aligned_alloc(64, bytes));
        if (data_ == nullptr) throw std::bad_alloc();
        if (filled == Filled::zeros) std::memset(static_cast<void*>(data_), 0, bytes);
    }
    Buffer(Buffer&& other) noexcept : data_(other.data_), size_(other.size_) {
        other.data_ = nullptr;
        other.size_ = 0;
    }
    Buffer& operator=(Buffer&& other) noexcept {
        T* data = data_;
        const std::size_t size = size_;
        data_ = other.data_;
        size_ = other.size_;
        other.data_ = data;
        other.size_ = size;
        return *this;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { std::free(data_); }

    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }
    T* release() {
        T* data = data_;
        data_ = nullptr;
        size_ = 0;
        return data;
    }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }

   private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

// A growing array whose memory can be handed over: codes are short, but nobody knows how short.
template <class T>
class Growing {
   public:
    Growing() = default;
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;
    ~Growing() { std::free(data_); }

    void reserve(std::size_t count) {
        if (count <= room_) return;
        const std::size_t room = count > 2 * room_ ? count : 2 * room_;
        std::size_t bytes;
        if (__builtin_mul_overflow(room, sizeof(T), &bytes)) throw std::bad_alloc();
        T* grown = static_cast<T*>(std::realloc(static_cast<void*>(data_), bytes));
        if (grown == nullptr) throw std::bad_alloc();
        data_ = grown;
        room_ = room;
    }
    void push(T value) { *extend(1) = value; }
    // Room for `count` more values, which the caller fills.
    T* extend(std::size_t count) {
        reserve(size_ + count);
        size_ += count;
        return data_ + size_ - count;
    }
    void shorten(std::size_t count) { size_ -= count; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }
    T* release() {
        T* data = data_;
        data_ = nullptr;
        size_ = room_ = 0;
        return data;
    }

   private:
    T* data_ = nullptr;
    std::size_t size_ = 0, room_ = 0;
};

// Rows of equal length, made when first asked for and kept: few patches need many. Eight neighbours are contiguous.
template <class T>
class Shelf {
   public:
    static constexpr std::size_t kChunk = 8;

    Shelf() = default;
    Shelf(std::size_t n_most, std::size_t length) : length_(length), n_chunks_(n_most / kChunk + 1) { chunks_ = Buffer<T*>(n_chunks_); }
    Shelf(Shelf&&) = delete;
    ~Shelf() {
        for (std::size_t c = 0; c < n_chunks_; c++) std::free(chunks_[c]);
    }
    T* row(std::size_t k) {
        T*& chunk = chunks_[k / kChunk];
        if (chunk == nullptr) chunk = Buffer<T>(kChunk * length_).release();
        return chunk + k % kChunk * length_;
    }

   private:
    std::size_t length_ = 0, n_chunks_ = 0;
    Buffer<T*> chunks_;
};

}  // namespace epitomes::EPITOMES_ISA
