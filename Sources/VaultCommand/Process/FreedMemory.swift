import Dispatch

#if canImport(Glibc)
import CProcess
#endif

/// What the process does with memory that it has let go of.
enum FreedMemory {
    /// Keeps a little of it: pieces of media come and go all the time, and to give their pages back to the system after
    /// each one, and get them anew, costs a quarter of what serving them does.
    static func keepSome() {
        #if canImport(Glibc)
        // Refusal leaves a process that is slower, and no less right.
        _ = cprocess_keep_freed_memory(2 << 20, 1 << 20)
        #endif
    }

    /// Gives back what is kept, soon.
    static func giveBack() {
        #if canImport(Glibc)
        // Between pieces that are still used there may be any number of free ones, which no bound finds.
        DispatchQueue.global(qos: .utility).async { cprocess_give_freed_memory_back() }
        #endif
    }
}
