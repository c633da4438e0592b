/// `{}`: it is done, and there is nothing to tell.
package struct NothingDocument: Codable, Hashable, Sendable {
    package init() {}
}
