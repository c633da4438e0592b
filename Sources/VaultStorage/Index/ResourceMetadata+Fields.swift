import VaultCrypto
package import VaultModel

extension ResourceMetadata {
    /// Whether a manifest or a redirect named the URL, not the operator: it is asked at public addresses alone.
    package var isDerived: Bool {
        get { members["derived"] == .bool(true) }
        set { members["derived"] = newValue ? .bool(true) : nil }
    }

    /// The request fields that the origin is asked with, and whose they are. Members that are none are as good as absent.
    package var fields: OriginFields? {
        get {
            guard case .string(let origin)? = members["fieldsOrigin"], case .array(let pairs)? = members["fields"]
            else { return nil }
            var fields = HeaderFields()
            for pair in pairs {
                guard case .array(let texts) = pair, texts.count == 2, case .string(let name) = texts[0],
                    case .string(let value) = texts[1]
                else { return nil }
                fields.append(name: name, value: value)
            }
            return OriginFields(origin: origin, fields: fields)
        }
        set {
            members["fieldsOrigin"] = newValue.map { .string($0.origin) }
            members["fields"] = newValue.map { given in
                .array(given.fields.fields.map { .array([.string($0.name), .string($0.value)]) })
            }
        }
    }
}
