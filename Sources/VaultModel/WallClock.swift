#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The wall clock in whole seconds since 1970.
package enum WallClock {
    @Sendable package static func now() -> Int64 { Int64(time(nil)) }
}
