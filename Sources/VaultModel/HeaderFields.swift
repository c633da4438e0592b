/// Header fields in the order they came, looked up without regard to case (RFC 9110 §5.1).
public struct HeaderFields: Hashable, Sendable, CustomStringConvertible, ExpressibleByDictionaryLiteral {
    /// The fields, name and value, in order.
    public private(set) var fields: [Field] = []

    /// One header field.
    public struct Field: Hashable, Sendable, CustomStringConvertible {
        /// The name as it was spelled.
        public let name: String
        /// The value, without the blanks around it.
        public let value: String

        /// The name: values may be secret, and are not for logs.
        public var description: String { name }
    }

    /// No fields.
    public init() {}

    /// The given fields, in order.
    public init(_ pairs: KeyValuePairs<String, String>) {
        for (name, value) in pairs { append(name: name, value: value) }
    }

    /// The given fields, in order.
    public init(dictionaryLiteral pairs: (String, String)...) {
        for (name, value) in pairs { append(name: name, value: value) }
    }

    /// The names: values may be secret, and are not for logs.
    public var description: String { fields.description }

    /// Adds a field at the end.
    public mutating func append(name: String, value: String) {
        fields.append(Field(name: name, value: String(value.trimmingBlanks())))
    }

    /// The first value of `name`, or nil.
    public subscript(name: String) -> String? {
        fields.first { $0.name.isEqualIgnoringCase(name) }?.value
    }

    /// All values of `name`, in order.
    public func values(_ name: String) -> [String] {
        fields.filter { $0.name.isEqualIgnoringCase(name) }.map(\.value)
    }

    /// The same without the fields of a name.
    package func without(_ name: String) -> HeaderFields {
        var others = self
        others.fields.removeAll { $0.name.isEqualIgnoringCase(name) }
        return others
    }
}

extension StringProtocol {
    /// ASCII comparison without regard to case, as HTTP compares field names and schemes.
    package func isEqualIgnoringCase(_ other: some StringProtocol) -> Bool {
        utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }
}

extension UInt8 {
    /// The lower-case letter for an ASCII capital; every other byte is itself.
    package var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}
