/// Whoever read standard output has gone: nothing is left to do, and nobody to tell.
struct OutputClosed: Error, Hashable, Sendable {}
