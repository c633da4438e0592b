#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The wall clock in whole seconds since 1970.
package enum WallClock {
    @Sendable package static func now() -> Int64 {
        // The `time` function may lag milliseconds behind the clock that other programs read.
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec)
    }
}
