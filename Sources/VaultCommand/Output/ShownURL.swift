import Foundation
import MediaVault

/// What is shown of a URL in place of a name.
enum ShownURL {
    /// Returns a URL with the characters that its escapes stand for, if it is still the same URL when it is typed so;
    /// other text as it is.
    static func of(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")), let shown = text.removingPercentEncoding,
            let url = try? MediaURL(text), let typed = try? MediaURL(typed: shown), typed.canonical == url.canonical
        else { return text }
        return shown
    }
}
