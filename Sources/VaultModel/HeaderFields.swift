/// Header fields in the order received; lookup ignores case (RFC 9110 §5.1).
public struct HeaderFields: Hashable, Sendable, CustomStringConvertible, ExpressibleByDictionaryLiteral {
    /// The fields, in the order in which they were received or added.
    public private(set) var fields: [Field] = []

    /// One header field.
    public struct Field: Hashable, Sendable, CustomStringConvertible {
        /// The name as its sender spelled it.
        public let name: String
        /// The value without surrounding white space.
        public let value: String

        /// The name alone, because values may be secret and must not be logged.
        public var description: String { name }
    }

    /// Creates an empty list of fields.
    public init() {}

    /// Creates fields from the given pairs, in order.
    public init(_ pairs: KeyValuePairs<String, String>) {
        for (name, value) in pairs { append(name: name, value: value) }
    }

    /// Creates fields from the given pairs, in order.
    public init(dictionaryLiteral pairs: (String, String)...) {
        for (name, value) in pairs { append(name: name, value: value) }
    }

    /// The names alone, because values may be secret and must not be logged.
    public var description: String { fields.description }

    /// Adds a field at the end.
    public mutating func append(name: String, value: String) {
        fields.append(Field(name: name, value: String(value.trimmingBlanks())))
    }

    /// The value of the first field called `name`, or nil if there is none.
    public subscript(name: String) -> String? {
        fields.first { $0.name.isEqualIgnoringCase(name) }?.value
    }

    /// Returns the values of all fields called `name`, in order.
    public func values(_ name: String) -> [String] {
        fields.filter { $0.name.isEqualIgnoringCase(name) }.map(\.value)
    }

    /// Returns all fields except those called `name`.
    package func without(_ name: String) -> HeaderFields {
        var others = self
        others.fields.removeAll { $0.name.isEqualIgnoringCase(name) }
        return others
    }
}

extension StringProtocol {
    /// Returns whether two strings are equal apart from ASCII case, as HTTP compares field names and schemes.
    package func isEqualIgnoringCase(_ other: some StringProtocol) -> Bool {
        utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }
}

extension UInt8 {
    /// The lower-case letter for an ASCII capital; any other byte unchanged.
    package var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}

/// The characters of a token, such as a field name or a method (RFC 9110 §5.6.2).
package enum HTTPToken {
    /// Returns whether a token may contain a byte.
    package static func contains(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: others.contains(byte)
        }
    }

    private static let others = Array("!#$%&'*+-.^_`|~".utf8)
}
