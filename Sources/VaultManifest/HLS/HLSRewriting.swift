import VaultModel

// Writes a playlist with other URIs, without what a player does not need, or with fewer entries.
extension HLSPlaylist {
    /// Returns the playlist's bytes with its URIs replaced; see ``Manifest/rewritten(hidesNames:_:)``.
    package func rewritten(_ link: (ManifestReference) throws -> String?) rethrows -> [UInt8] {
        try written { try $0.text(link) }
    }

    /// Returns the playlist's bytes with a text written for each edit. A nil text keeps the existing bytes.
    func written(_ text: (HLSEdit) throws -> String?) rethrows -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + edits.count * 64)
        var position = 0
        for edit in edits {
            result += bytes[position..<edit.span.lowerBound]
            position = edit.span.upperBound
            if let text = try text(edit) { result += text.utf8 } else { result += bytes[edit.span] }
        }
        result += bytes[position...]
        return result
    }

    /// Returns the playlist with only what a player needs; see ``Manifest/sanitized(_:)``.
    func sanitized(_ traces: OriginTraces) -> HLSPlaylist {
        keeping(entries, HLSSanitizer(bytes, written: edits.lazy.map(\.span), variables, traces).edits)
    }

    /// Returns the playlist with only the given entries, and without the bytes in `cuts`.
    func keeping(_ kept: [HLSEntry], without cuts: [Range<Int>]) -> HLSPlaylist {
        let cuts = cuts.map { HLSEdit($0, .text("")) }
        return keeping(kept, cuts.sorted { $0.span.lowerBound < $1.span.lowerBound })
    }

    /// Returns the playlist with only the given entries, and with further edits, which must be in order.
    private func keeping(_ kept: [HLSEntry], _ more: [HLSEdit]) -> HLSPlaylist {
        var playlist = self
        playlist.entries = kept
        playlist.edits = []
        var more = more[...]
        for edit in edits {
            while let new = more.first, new.span.upperBound <= edit.span.lowerBound {
                playlist.edits.append(new)
                more.removeFirst()
            }
            // A cut replaces any edit within it.
            if let new = more.first, new.span.contains(edit.span.lowerBound) { continue }
            playlist.edits.append(edit)
            // An edit of a whole line replaces any cut within it.
            while let new = more.first, new.span.lowerBound < edit.span.upperBound { more.removeFirst() }
        }
        playlist.edits += more
        return playlist
    }

    /// Returns the playlist's bytes with all URIs replaced by file names; see `Manifest.local`.
    ///
    /// A tag for a resource that the title does not include is removed. The line of a segment that the title does not
    /// include is kept, because later segments are counted from it. So is the tag of a missing key, because its
    /// segments are encrypted. In both cases, an empty file takes the resource's place. The end is stated, because some
    /// players would otherwise wait for more.
    func local(_ names: inout LocalNames) -> [UInt8] {
        let gone = Set(edits.filter { !$0.isLed(to: names) }.compactMap(\.line))
        let text = keeping(entries, without: Array(gone)).written { $0.local(&names) }
        return isEnded ? text : text + "\n#EXT-X-ENDLIST\n".utf8
    }
}

extension HLSEdit {
    /// Returns whether the edit needs no file, or the title includes the file.
    fileprivate func isLed(to names: LocalNames) -> Bool {
        switch change {
        case .link(let reference, _): names.has(reference.url)
        case .refusal: false
        case .text: true
        }
    }

    /// Returns the file name to write, or the text that the edit already has.
    fileprivate func local(_ names: inout LocalNames) -> String {
        let name: String
        switch change {
        case .link(let reference, _):
            name =
                names.name(of: reference.url, reference.role) ?? names.nameOfNothing(at: reference.url, reference.role)
        case .refusal(let role): name = names.nameOfNothing(at: nil, role ?? .data)
        case .text(let text): return text
        }
        return lacksQuotes ? "\"\(name)\"" : name
    }
}
