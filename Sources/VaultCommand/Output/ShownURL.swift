import Foundation
import MediaVault

/// The form in which a URL is shown in place of a name.
enum ShownURL {
    /// Returns a URL with its percent escapes decoded, if typing the decoded form yields the same URL. Other text is
    /// returned unchanged.
    static func of(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")), let shown = text.removingPercentEncoding,
            let url = try? MediaURL(text), let typed = try? MediaURL(typed: shown), typed.canonical == url.canonical
        else { return text }
        return shown
    }
}
