package import VaultModel

/// Judges the answer to a question whether a representation is still the one that is known (RFC 9111 §4.3.3).
package enum ValidationCheck {
    /// Whether it is: a 304 says so, and so does any answer whose validators and length agree.
    ///
    /// - Throws: ``OriginFailure`` as ``ResponseCheck``, and of kind `lied` for a 304 that nothing was asked by.
    package static func isSame(
        _ head: OriginHead, asked: OriginRequest, known: KnownRepresentation
    ) throws(OriginFailure) -> Bool {
        guard head.status == 304 else {
            if case .current = try ResponseCheck.judge(head, asked: asked, known: known) { return true }
            return false
        }
        guard let validators = asked.ifChangedFrom, validators != Validators() else {
            throw OriginFailure(.lied, "the answer was 304 though nothing was asked by it")
        }
        // One that names another tag speaks of another representation (RFC 9111 §4.3.4).
        guard let mine = validators.entityTag, let theirs = head.validators.entityTag else { return true }
        return mine.matchesWeakly(theirs)
    }
}
