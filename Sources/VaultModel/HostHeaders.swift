/// Request header fields, such as `Authorization`, that the vault adds to requests to particular hosts.
///
/// A host that is given with a port means only that port; a host that is given without one means all its ports. The
/// values are secret.
public struct HostHeaders: Hashable, Sendable {
    private var fields: [HostAuthority: HeaderFields] = [:]

    /// The maximum number of fields per host.
    public static let maxFields = 16
    /// The maximum size of all hosts, names and values together, in bytes.
    public static let maxLength = 64 << 10
    /// The placeholder for a value that is not shown.
    private static let mask = "…"

    /// Creates an empty set of headers.
    public init() {}

    /// The names of each host's fields, in ascending order.
    public var names: [String: [String]] {
        Dictionary(uniqueKeysWithValues: fields.map { ("\($0)", $1.fields.map(\.name).sorted()) })
    }

    /// The hosts in ascending order, each with its fields.
    package var all: [(host: String, fields: HeaderFields)] {
        fields.map { ("\($0)", $1) }.sorted { $0.0 < $1.0 }
    }

    /// Sets a field for a host, replacing any field with the same name; nil removes it.
    ///
    /// - Parameters:
    ///   - name: the field's name; case is ignored.
    ///   - value: the field's value, without control characters.
    ///   - host: the host, with a port if only that port is meant.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the host or the field is invalid, the vault sets a field
    ///   of this name itself, or a maximum is exceeded. The message does not repeat the value.
    public mutating func set(_ name: String, to value: String?, for host: String) throws {
        let host = try HostAuthority(host)
        var ofHost = (fields[host] ?? HeaderFields()).without(name)
        if let value {
            ofHost.append(name: name, value: value)
            guard ofHost[name] != Self.mask else {
                throw VaultError(.invalidArgument, "the value of a header is not shown; give the value itself")
            }
            try ofHost.requireSendable()
        }
        var changed = fields
        changed[host] = ofHost.fields.isEmpty ? nil : ofHost
        guard changed.count <= NetworkSettings.maxHosts, ofHost.fields.count <= Self.maxFields,
            changed.reduce(0, { $0 + "\($1.key)".utf8.count + $1.value.length }) <= Self.maxLength
        else {
            throw VaultError(
                .invalidArgument,
                "at most \(NetworkSettings.maxHosts) hosts may have headers, each at most \(Self.maxFields), and all of "
                    + "them together 64 KiB; remove some")
        }
        fields = changed
    }

    /// Removes all of a host's fields.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the text is not a host.
    public mutating func removeAll(for host: String) throws { fields[try HostAuthority(host)] = nil }

    /// Returns the fields for a request to a URL; a field for the URL's port overrides one for all ports.
    package func fields(for url: MediaURL) -> HeaderFields {
        guard !fields.isEmpty else { return HeaderFields() }
        var found = fields[HostAuthority(host: url.host, port: url.effectivePort)] ?? HeaderFields()
        for field in (fields[HostAuthority(host: url.host, port: nil)] ?? HeaderFields()).fields
        where found[field.name] == nil {
            found.append(name: field.name, value: field.value)
        }
        return found
    }
}

extension HeaderFields {
    /// The total size of all names and values, in bytes.
    fileprivate var length: Int { fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } }
}
