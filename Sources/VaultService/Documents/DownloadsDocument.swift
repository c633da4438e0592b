/// The downloads that the service runs, and those that ended last, as `GET /api/v1/downloads` tells them.
package struct DownloadsDocument: Codable, Sendable {
    package let downloads: [DownloadDocument]
}
