/// An optional value whose JSON member is `null` rather than absent if there is no value.
@propertyWrapper
public struct OrNull<Value: Codable & Sendable>: Codable, Sendable {
    /// The value; nil for `null`.
    public var wrappedValue: Value?

    /// Wraps a value.
    public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    /// Decodes the value, or `null`.
    ///
    /// - Throws: `DecodingError` if the JSON is neither.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }

    /// Encodes the value, or `null`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

extension OrNull: Equatable where Value: Equatable {}
extension OrNull: Hashable where Value: Hashable {}
