import Testing
import VaultModel

@testable import VaultCrypto

@Suite("The audit log records key operations, and the checker detects changes to it")
struct AuditCheckerTests {
    private let keyring: Keyring
    private let lines: [[UInt8]]

    init() throws {
        keyring = try KeyringFixture().unlock()
        var lines: [[UInt8]] = []
        for number in 1...4 { lines.append(try Self.line(number, after: lines.last, by: keyring)) }
        self.lines = lines
    }

    private static func line(_ number: Int, after last: [UInt8]?, by keyring: Keyring) throws -> [UInt8] {
        let receipt = Receipt(
            sequence: Int64(number), time: 1_700_000_000, act: .shred, outcome: .destroyed, generation: number,
            subject: String(repeating: "ab", count: 32), resources: nil)
        return try KeyringReceipts(keyring).sign(
            receipt, previous: last.map { ReceiptLine.hash(of: $0) } ?? ReceiptLine.firstPrevious)
    }

    private func report(_ lines: [[UInt8]], knowing sequence: Int64? = 4, rest: [UInt8] = []) throws -> AuditReport {
        let anchor = try sequence.map {
            AuditChecker.Anchor(
                vaultID: keyring.vaultID, publicKey: try KeyringReceipts(keyring).anchor().publicKey, sequence: $0)
        }
        return AuditChecker.report(on: lines.flatMap { $0 + [0x0A] } + rest, anchor: anchor)
    }

    @Test("A complete log is sound, with the keyring and after all keys are gone")
    func whole() throws {
        for known in [4, 3, 0, nil] as [Int64?] {
            let report = try report(lines, knowing: known)
            #expect(report.isSound && report.receipts.map(\.sequence) == [1, 2, 3, 4])
            #expect(report.isAnchored == (known != nil))
            #expect(report.vaultID == keyring.vaultID.hex && report.publicKey?.count == 64)
            #expect(report.receipts.allSatisfy { $0.act == .shred && $0.outcome == .destroyed })
        }
        #expect(try report([], knowing: 0) == AuditChecker.report(on: [], anchor: KeyringReceipts(keyring).anchor()))
    }

    @Test("A change of any byte of a line is detected")
    func everyByte() throws {
        for index in lines[1].indices {
            var changed = lines
            changed[1][index] ^= 0x01
            #expect(try !report(changed).isSound, "byte \(index)")
            #expect(try !report(changed, knowing: nil).isSound, "byte \(index), without the keyring")
        }
    }

    @Test("A missing, exchanged or repeated line is detected with and without the keyring")
    func order() throws {
        let other = try Keyring.other()
        for (changed, kind, line) in [
            ([lines[0], lines[2], lines[3]], AuditFault.Kind.sequence, 2),
            ([lines[1], lines[2], lines[3]], .sequence, 1),
            ([lines[0], lines[2], lines[1], lines[3]], .sequence, 2),
            ([lines[0], lines[1], lines[1], lines[2], lines[3]], .sequence, 3),
            ([lines[0], lines[1], Array("{}".utf8), lines[3]], .unreadable, 3),
            ([lines[0], lines[1], try Self.line(3, after: lines[0], by: keyring), lines[3]], .chain, 3),
            ([lines[0], lines[1], try Self.line(3, after: lines[1], by: other), lines[3]], .stranger, 3),
        ] {
            for known in [4, nil] as [Int64?] {
                let faults = try report(changed, knowing: known).faults
                #expect(faults.first == AuditFault(line: line, kind: kind), "\(kind), \(String(describing: known))")
            }
        }
    }

    @Test("A truncated log is detected with the keyring")
    func cut() throws {
        for kept in 0..<4 {
            let report = try report(Array(lines.prefix(kept)))
            #expect(report.faults == [AuditFault(line: kept + 1, kind: .cut)])
            #expect(try self.report(Array(lines.prefix(kept)), knowing: nil).isSound)
        }
    }

    @Test("A line that was cut short by a power loss is ignored")
    func unfinished() throws {
        let report = try report(Array(lines.prefix(3)), knowing: 3, rest: Array(lines[3].prefix(90)))
        #expect(report.isSound && report.receipts.count == 3)
    }

    @Test("A log signed entirely with another vault's key is refused")
    func stranger() throws {
        let line = try Self.line(1, after: nil, by: try Keyring.other())
        #expect(try report([line], knowing: 1).faults == [AuditFault(line: 1, kind: .stranger)])
    }

    @Test("A line has exactly one spelling, with its members in canonical order")
    func spelling() throws {
        let text = String(decoding: lines[0], as: UTF8.self)
        #expect(text.hasPrefix(#"{"act":"shred","generation":1,"key":""#))
        let zeros = String(repeating: "0", count: 64)
        #expect(text.contains(#""outcome":"destroyed","previous":"\#(zeros)","sequence":1"#))
        #expect(ReceiptLine(Array(text.replacing(#"{"act""#, with: #"{ "act""#).utf8)) == nil)
    }

    @Test("The signature is Ed25519 and matches the first vector of RFC 8032")
    func vector() throws {
        let seed = try #require(
            Hex.decode("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
        let key = try SecretKey(seed)
        let signature = try ReceiptSignature.sign([], seed: key)
        #expect(
            Hex.encode(try ReceiptSignature.publicKey(of: key))
                == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
        #expect(
            Hex.encode(signature)
                == "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                + "d25bf5f0595bbe24655141438e7a100b")
    }
}

extension Keyring {
    fileprivate static func other() throws -> Keyring {
        let file = try NewKeyring.make(
            with: .key(SecretKey(KeyringFixture.keyBytes)), method: .keyFile, label: "other", now: 0)
        return try KeyringFixture(file: file).unlock()
    }
}
