/// The control socket has nobody behind it, or whoever was there ended before it answered.
package struct ServiceGone: Error, Hashable, Sendable {}
