import Foundation
import Hummingbird
import MediaVault
import NIOCore
import NIOHTTP1
import VaultModel

/// An API request's query and body. Both may contain only the names that the API description lists.
struct APIRequest: Sendable {
    /// The maximum length of a body in bytes, unless the request has another limit.
    static let maxBytes = OperationInput.maxBytes

    private let request: Request
    let endpoint: Endpoint
    private let query: [URLQueryItem]
    /// Whether the token of the request is still valid.
    private let isAllowed: @Sendable () -> Bool

    /// The error thrown if a request's token stopped being valid while the body was arriving.
    struct TokenEnded: Error {}

    init(_ request: Request, to endpoint: Endpoint, isAllowed: @escaping @Sendable () -> Bool = { true }) {
        (self.request, self.endpoint, self.isAllowed) = (request, endpoint, isAllowed)
        query = URLComponents(string: request.head.path ?? "")?.queryItems ?? []
    }

    /// Refuses unknown parameters and unexpected bodies, because an unknown name may be a misspelling of one that
    /// matters.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the query has an unknown or repeated parameter, or the
    ///   request has a body although the API defines none for it.
    func check() async throws {
        try refuse(Self.fault(inQuery: query.map(\.name), among: endpoint.parameters))
        guard !endpoint.hasBody, endpoint.method != .get, request.head.hasBody else { return }
        let _: EmptyDocument = try await body()
    }

    /// Returns the input of an operation, from the query or the body.
    func input<Input: Decodable>(_ type: Input.Type = Input.self, upTo limit: Int = maxBytes) async throws -> Input {
        let more = pathID.map { [OperationInput.id: $0.description] } ?? [:]
        guard !endpoint.hasBody else { return try await body(upTo: limit, adding: more) }
        let items = query.map { (name: $0.name, value: $0.value ?? "") } + more.map { (name: $0.key, value: $0.value) }
        return try decoding { try StrictDecoder.decode(type, query: items) }
    }

    private func decoding<Value>(_ decode: () throws -> Value) throws -> Value {
        do {
            return try decode()
        } catch let fault as StrictDecoder.Fault {
            throw VaultError(.invalidArgument, "\(fault.message); see the API description")
        }
    }

    /// Returns a description of a query's fault, which is an unknown or repeated name; nil if there is none.
    static func fault(inQuery names: [String], among known: Set<String>) -> String? {
        if let unknown = names.first(where: { !known.contains($0) }) {
            return "the query has \(StrictDecoder.shown(unknown, "parameter")), which this request does not know"
        }
        let repeated = names.enumerated().first { names[..<$0.offset].contains($0.element) }
        return repeated.map { "the query has \(StrictDecoder.shown($0.element, "parameter")) twice" }
    }

    private func refuse(_ fault: String?) throws {
        guard let fault else { return }
        throw VaultError(.invalidArgument, "\(fault); see the API description")
    }

    /// The decoded value of a query parameter; nil if the parameter is absent.
    subscript(name: String) -> String? { query.first { $0.name == name }.map { $0.value ?? "" } }

    /// Returns the number in a query parameter; nil if the parameter is absent.
    func number(_ name: String) throws -> Int? {
        try self[name].map { text in
            guard let number = Int(text) else {
                throw VaultError(.invalidArgument, "the request's \(name) is not a number")
            }
            return number
        }
    }

    /// Returns the value of a query parameter with few possible values; nil if the parameter is absent.
    func choice<Choice: RawRepresentable & CaseIterable>(_ name: String) throws -> Choice?
    where Choice.RawValue == String {
        try self[name].map { text in
            guard let choice = Choice(rawValue: text) else {
                let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
                throw VaultError(.invalidArgument, "the request's \(name) must be one of \(names)")
            }
            return choice
        }
    }

    /// The resources that the query selects, and their order.
    var selection: ListSelection {
        get throws {
            var selection = ListSelection(
                order: try choice("sort"), filter: try choice("filter"),
                search: self["search"].map { TitleSearch(text: $0) })
            selection.ids = try self["ids"].map { text in
                let ids = text.split(separator: ",", omittingEmptySubsequences: false).map { TitleID(String($0)) }
                guard ids.count <= ListSelection.maxIDs, !ids.contains(nil) else {
                    throw VaultError(
                        .invalidArgument,
                        "ids must be up to \(ListSelection.maxIDs) ids of titles with commas between them")
                }
                return ids.compactMap(\.self)
            }
            return selection
        }
    }

    /// Returns a reference to the resource that the path, the query or, for POST, the body names.
    func reference(in vault: Vault) async throws -> MediaReference { try await document().reference(in: vault) }

    /// Returns the document that names the resource.
    func document() async throws -> ReferenceDocument {
        if let id = pathID { return ReferenceDocument(id: id, url: nil, contentID: nil) }
        if request.method == .post { return try await body() }
        return try ReferenceDocument(id: titleID, url: self["url"], contentID: self["contentID"])
    }

    /// The resource id in the path; nil if the path has none.
    var pathID: TitleID? {
        APIRoute.id(inPath: Substring((request.head.path ?? "").utf8.prefix { $0 != UInt8(ascii: "?") }))
    }

    /// Whether the query names a resource.
    var namesResource: Bool { self["id"] != nil || self["url"] != nil }

    /// The title id in the query; nil if the query has none.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the value is not an id.
    var titleID: TitleID? {
        get throws {
            try self["id"].map { text in
                guard let id = TitleID(text) else {
                    throw VaultError(
                        .invalidArgument, "the request's id is not the id of a resource; list the resources")
                }
                return id
            }
        }
    }

    /// Returns the decoded body.
    ///
    /// - Parameter more: members that the path adds.
    func body<Value: Decodable>(
        _ type: Value.Type = Value.self, upTo limit: Int = maxBytes, adding more: [String: String] = [:]
    ) async throws -> Value {
        do {
            let buffer = try await request.body.collect(upTo: limit)
            // A body may take a while to arrive, and the token may have been revoked since.
            guard isAllowed() else { throw TokenEnded() }
            return try decoding { try StrictDecoder.decode(type, from: Array(buffer.readableBytesView), adding: more) }
        } catch is NIOTooManyBytesError {
            throw VaultError(
                .invalidArgument,
                "the body is longer than \(limit < 1 << 20 ? "\(limit) bytes" : "\(limit >> 20) MiB"); shorten it")
        } catch is HTTPParserError {
            throw VaultError(.invalidArgument, "the body is incomplete or not valid HTTP/1.1; send all of it")
        }
    }
}
