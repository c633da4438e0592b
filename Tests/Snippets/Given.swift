// What the snippets of README.md and the articles take as given: `check.py` compiles each text with this file.
import MediaVault

/// Stands for a value that an earlier section of an article, or the reader's own program, has made.
func given<Value>(_: Value.Type = Value.self) -> Value { fatalError("snippets are compiled, and never run") }

func play(_ bytes: [UInt8]) {}
func draw(_ ranges: [ByteRange]) {}

/// Stands for an app's own transport.
struct MyTransport: Origin {
    init(allowing hosts: Set<String> = []) {}

    func send(_ request: OriginRequest) async throws -> any OriginResponse { given() }
}

var place: VaultPlace { given() }
var vault: Vault { given() }
var film: MediaURL { given() }
var master: MediaURL { given() }
var keychainItem: [UInt8] { given() }
