package import VaultModel

/// Origins reached by HTTP and HTTPS, through libcurl on one thread of its own.
///
/// Connections are kept and used again. A transfer whose reader is slow is paused when 128 KiB wait, so that memory
/// stays bounded whatever the size of the media.
package final class CurlOrigin: Origin {
    private let loop: CurlLoop

    /// Begins the thread. It ends with ``shutdown()``, or with the last reference to this and to its answers.
    package init(configuration: CurlConfiguration) {
        loop = CurlLoop(configuration)
    }

    deinit { loop.post(.stop) }

    /// Sends a request and returns with the final head, after redirects.
    ///
    /// - Throws: ``OriginFailure`` where no answer came; `CancellationError` where the task was cancelled;
    ///   ``VaultError`` with code ``VaultError/Code/invalidArgument`` where the request's fields cannot be sent.
    package func send(_ request: OriginRequest) async throws -> any OriginResponse {
        let transfer = try Transfer(request, on: loop)
        return CurlResponse(head: try await transfer.start(), transfer: transfer, origin: self)
    }

    /// Ends all transfers and the thread, and returns when both are gone. Requests sent later fail.
    package func shutdown() async {
        loop.post(.stop)
        await loop.waitForEnd()
    }
}
