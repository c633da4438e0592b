/// What a call has left on the stack of the thread that made it.
enum StackBelow {
    /// More than such a call uses, and less than any thread has left here.
    private static let byteCount = 32 << 10

    /// Makes a call, and copies the stack below this frame before anything else uses it.
    @inline(never)
    static func copied(after call: () throws -> Void) rethrows -> [UInt8] {
        try call()
        var frame: UInt8 = 0
        return unsafe withUnsafeMutablePointer(to: &frame) { top in
            // The thread's own stack, where the call was: nobody else writes there.
            unsafe Array(UnsafeRawBufferPointer(start: UnsafeRawPointer(top) - byteCount, count: byteCount))
        }
    }
}
