/// The bytes that a call has left on the stack of its thread.
enum StackBelow {
    /// More than such a call uses, and less than any thread has left at this point.
    private static let byteCount = 32 << 10

    /// Performs a call, then copies the stack below this frame before anything else uses it.
    @inline(never)
    static func copied(after call: () throws -> Void) rethrows -> [UInt8] {
        try call()
        var frame: UInt8 = 0
        return unsafe withUnsafeMutablePointer(to: &frame) { top in
            // This is the thread's own stack, below the current frame: no other code writes there.
            unsafe Array(UnsafeRawBufferPointer(start: UnsafeRawPointer(top) - byteCount, count: byteCount))
        }
    }
}
