/// What is known of the bytes that are to come: room is made with an eye on it.
package struct Outlook: Sendable {
    /// The length of the whole title; nil where nobody knows.
    package var length: Int64?
    /// How many bytes are to follow, `Int64.max` where nobody knows.
    package var expected: Int64

    package init(length: Int64? = nil, expected: Int64 = 0) {
        self.length = length
        self.expected = expected
    }

    /// How much room is made beyond what is needed now, where somebody must go anyway.
    var ahead: Int64 { min(max(0, expected), Room.step) }
}
