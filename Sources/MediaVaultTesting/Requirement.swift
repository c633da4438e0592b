extension OriginConformance {
    /// One thing that ``Origin`` requires of a transport, and that one check of the kit tries.
    ///
    /// The comments of ``Origin`` and its types say what each means. More may be added, so a `switch` over them needs a
    /// default.
    public enum Requirement: String, CaseIterable, Hashable, Sendable, CustomStringConvertible {
        // MARK: The request

        /// The path and the query are sent byte for byte.
        case sendsTarget
        /// `Range` is sent as ``OriginRequest/range`` says, also after a redirect, and not otherwise.
        case sendsRange
        /// `If-Range`, `If-None-Match` and `If-Modified-Since` are sent as requested, and not otherwise.
        case sendsConditions
        /// The request's own fields are sent unchanged.
        case sendsFields
        /// `Accept-Encoding` is `identity`.
        case asksForIdentity
        /// Cookies of one answer are not sent with a later request.
        case keepsNoCookies
        /// Every request reaches the origin, whatever an earlier answer said of its freshness.
        case keepsNoAnswers

        // MARK: Redirects and addresses

        /// 301, 302, 303, 307 and 308 with a `Location` are followed with the same method and fields, five in a row at
        /// least; without one, they are answers.
        case followsRedirects
        /// Redirects without end are an invalid response.
        case endsRedirectLoops
        /// A redirect to something other than http or https is an invalid response.
        case refusesOtherSchemes
        /// ``OriginHead/location`` is the URL that answered if a redirect led there, without credentials, and otherwise
        /// nil.
        case reportsLocation
        /// ``OriginHead/movedTo`` is where permanent redirects led before any other.
        case reportsPermanentMove
        /// The request's own fields are not sent to another origin, nor to the first again after that.
        case keepsSecretsAtOrigin
        /// Nothing is sent to an address that ``OriginRequest/reach`` excludes, in whatever spelling, nor by a
        /// redirect.
        case staysInReach
        /// ``OriginHead/privateHosts`` is nil or has every host on the way whose address is private.
        case namesPrivateHosts
        /// Equal numbers in ``OriginHead/connection`` mean the same connection.
        case numbersConnections

        // MARK: The head of the answer

        /// An answer of any status is an answer, with its fields and its body, and no failure.
        case passesOnEveryStatus
        /// Answers to a range, right or wrong, come with their status, `Content-Range` and bytes unchanged.
        case passesOnRangeAnswers
        /// Every one of several fields of one name is there, in order.
        case passesOnRepeatedFields
        /// `Content-Encoding` stays, and the body is not decoded, or else the vault can tell by the field that it was.
        case passesOnContentCoding
        /// Interim answers (1xx) are skipped.
        case skipsInterimAnswers
        /// A head of 100 fields and 15 KiB is read.
        case readsLargeHeads
        /// A head of megabytes is a failure.
        case boundsHeads

        // MARK: The body

        /// Bodies by length, in chunks, and up to the connection's end come as they were sent, and then nil, each time.
        case readsEveryFraming
        /// After HEAD, 204 and 304 no body is waited for, whatever `Content-Length` says.
        case expectsNoBody
        /// What comes after the stated length is not delivered.
        case stopsAtContentLength
        /// A body that ends before its length or its last chunk is interrupted.
        case reportsShortBodies
        /// The head, and then the bytes, are delivered before the rest has arrived.
        case deliversAsItArrives
        /// No piece of a body is empty, nor longer than 1 MiB.
        case boundsPieces
        /// While nobody reads a body, no more than 16 MiB of it are received.
        case holdsBack
        /// Several requests run at the same time, and a body that does not go on hinders no other.
        case servesSideBySide

        // MARK: Failures

        /// A refused connection is unreachable; one that is closed without an answer is unreachable or interrupted.
        case reportsMissingAnswers
        /// An answer that is not HTTP is an invalid response.
        case reportsInvalidHTTP
        /// A failed request is sent twice at most.
        case leavesRetriesToVault
        /// No failure contains a query or the value of a field.
        case namesNoSecrets

        // MARK: Ends

        /// Cancelling the task ends a request, or a wait for bytes, with `CancellationError`, and the transfer with it.
        case endsWithTask
        /// ``OriginResponse/cancel()`` ends the transfer, and later reads throw `CancellationError`.
        case endsWithCancel
        /// Releasing a response ends its transfer.
        case endsWithRelease
        /// ``OriginResponse/end()`` ends the transfer, and returns bytes that follow the delivered ones without a gap.
        case returnsUnreadBytes

        /// The requirement's name.
        public var description: String { rawValue }
    }
}
