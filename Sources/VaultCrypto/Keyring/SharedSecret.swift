/// An unlock secret that several hold; wiped when the last reference goes.
package final class SharedSecret: Sendable {
    let secret: UnlockSecret

    package init(_ secret: consuming UnlockSecret) { self.secret = secret }
}
