/// A key that several owners hold; wiped when the last of them lets go.
package final class SharedKey: Sendable {
    package let secret: SecretKey

    package init(_ secret: consuming SecretKey) { self.secret = secret }
}
