#ifndef MEDIAVAULT_CPROCESS_SHIM_H
#define MEDIAVAULT_CPROCESS_SHIM_H

// C library functions that Swift cannot call: variadic ones, and those that its module of the C library omits. Each has
// one shim with a fixed signature. (The name CSystem is taken by a target of swift-system, and target names are unique
// across a package graph.)

#ifdef __linux__
#include <features.h>
#include <sys/prctl.h>

/// Forbids core dumps, and debugger attachment by other processes of the same user. Returns 0, or -1 with errno set.
static inline int cprocess_forbid_dumps(void) {
    return prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
}
#endif

#ifdef __GLIBC__
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Makes the allocator keep `kept` freed bytes of each arena, and return blocks larger than `bound` to the system at
/// once.
///
/// Returns 1, or 0 if the allocator refuses.
static inline int cprocess_set_malloc_thresholds(int kept, int bound) {
    return mallopt(M_TRIM_THRESHOLD, kept) && mallopt(M_MMAP_THRESHOLD, bound);
}

/// Returns all freed memory to the system. This may take some milliseconds.
static inline void cprocess_release_free_memory(void) { malloc_trim(0); }

/// Makes the allocator overwrite what is freed from now on. Returns 1, or 0 if it refuses.
static inline int cprocess_overwrite_freed_memory(void) { return mallopt(M_PERTURB, 0xA5); }

/// The smallest block that the allocator has: it fits into each free piece of memory, and many of them fill it.
struct cprocess_block {
    struct cprocess_block *next;
    void *rest[2];
};

struct cprocess_filling {
    sem_t ready, go;
    /// The bytes that all threads together may still fill, and those that they have filled. They change atomically.
    long left, filled;
};

/// How many blocks a thread takes from what all of them may fill at a time: a page of memory.
enum { cprocess_taken_blocks = 128 };

/// Fills the free memory of the calling thread's arena with blocks, and frees them.
static inline void *cprocess_fill_free_memory(void *argument) {
    struct cprocess_filling *filling = (struct cprocess_filling *)argument;
    // From here on the thread has its arena, and no other one gets that before all have begun.
    struct cprocess_block *last = (struct cprocess_block *)malloc(sizeof(struct cprocess_block));
    if (last != NULL) last->next = NULL;
    sem_post(&filling->ready);
    while (sem_wait(&filling->go) != 0) {}
    long taken = cprocess_taken_blocks * 32, filled = 0;
    // The smallest pieces come first; malloc_trim has emptied the pages in the largest ones.
    while (__atomic_sub_fetch(&filling->left, taken, __ATOMIC_RELAXED) >= 0) {
        int count = 0;
        for (; count < cprocess_taken_blocks; count += 1) {
            struct cprocess_block *block = (struct cprocess_block *)malloc(sizeof(struct cprocess_block));
            if (block == NULL) break;
            memset(block, 0, sizeof(struct cprocess_block));
            block->next = last;
            last = block;
        }
        filled += count * 32;
        if (count < cprocess_taken_blocks) break;
    }
    __atomic_add_fetch(&filling->filled, filled, __ATOMIC_RELAXED);
    while (last != NULL) {
        struct cprocess_block *next = last->next;
        free(last);
        last = next;
    }
    return NULL;
}

/// Overwrites up to `most` bytes of free memory in all arenas of the allocator together, with one thread in each.
/// Returns how many bytes that were; meanwhile it needs no more than these.
///
/// glibc gives a new thread an arena that no thread has, or else, with a limit on their number, the next of all in turn.
static inline size_t cprocess_wipe_free_memory(size_t most) {
    enum { most_threads = 128 };
    pthread_t threads[most_threads];
    pthread_attr_t attributes;
    struct cprocess_filling filling;
    malloc_trim(0);
    mallopt(M_ARENA_MAX, 1);
    // There are at most eight arenas for each processor.
    long wanted = 8 * sysconf(_SC_NPROCESSORS_ONLN) + 1;
    size_t unused = most;
#if __GLIBC_PREREQ(2, 33)
    unused = mallinfo2().fordblks;
#endif
    filling.left = (long)(unused < most ? unused : most);
    filling.filled = 0;
    if (sem_init(&filling.ready, 0, 0) != 0 || sem_init(&filling.go, 0, 0) != 0) return 0;
    if (pthread_attr_init(&attributes) != 0) return 0;
    pthread_attr_setstacksize(&attributes, 64 << 10);
    int begun = 0;
    while (begun < wanted && begun < most_threads &&
           pthread_create(&threads[begun], &attributes, cprocess_fill_free_memory, &filling) == 0) {
        begun += 1;
    }
    for (int number = 0; number < begun; number += 1) {
        while (sem_wait(&filling.ready) != 0) {}
    }
    for (int number = 0; number < begun; number += 1) sem_post(&filling.go);
    for (int number = 0; number < begun; number += 1) pthread_join(threads[number], NULL);
    pthread_attr_destroy(&attributes);
    malloc_trim(0);
    return (size_t)filling.filled;
}
#endif

#endif
