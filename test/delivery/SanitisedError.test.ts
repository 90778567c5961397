import { assert, describe, it } from "@effect/vitest"
import { sanitiseError } from "../../src/error/Exception.ts"

const cases: ReadonlyArray<readonly [string, string, string]> = [
  ["keeps a plain sentence", "the receiver answered 503", "the receiver answered 503"],
  [
    "takes out a URL with credentials and query",
    "POST https://user:pw@hooks.example.com/x?sig=1 failed",
    "POST [address] failed"
  ],
  [
    "takes out a connection string",
    "cannot reach postgres://app:hunter2@db:5432/main now",
    "cannot reach [address] now"
  ],
  [
    "takes out an IPv4 address",
    "connect ECONNREFUSED 127.0.0.1:4000",
    "connect ECONNREFUSED [address]"
  ],
  ["takes out an IPv6 address", "connect ECONNREFUSED ::1:4000", "connect ECONNREFUSED [address]"],
  [
    "takes out a host name that was looked up",
    "getaddrinfo ENOTFOUND hooks.internal",
    "getaddrinfo ENOTFOUND [address]"
  ],
  ["takes out host and port", "dial redis-1.svc:6379 refused", "dial [address] refused"],
  ["takes out an e-mail address", "no mailbox ann@example.com", "no mailbox [address]"],
  ["takes out a bearer token", "401 for Bearer abc.def-123", "401 for Bearer [secret]"],
  [
    "takes out named secrets in any notation",
    `{"api_key": "k 1", "password":"p"} token=t; client_secret: s`,
    '{"api_key=[secret], "password=[secret]} token=[secret]; client_secret=[secret]'
  ],
  ["takes out a key by its form", "key sk-live_4f9a8b7c6d is bad", "key [secret] is bad"],
  ["takes out a long token", "got 0123456789abcdef0123456789abcdef01234567", "got [secret]"],
  [
    "keeps the id of a message",
    "message 8c1f0c9e-7f0a-4c8e-9d0e-2f5f3a9b1c11 was refused",
    "message 8c1f0c9e-7f0a-4c8e-9d0e-2f5f3a9b1c11 was refused"
  ],
  [
    "takes out the stack and keeps the text before it",
    "TypeError: x is not a function\n    at run (/app/src/x.ts:3:4)\n    at next",
    "TypeError: x is not a function"
  ],
  ["takes out a path", "ENOENT: open '/etc/troupe/keys.json'", "ENOENT: open '[path]'"],
  ["makes one line of several", "first\nsecond\u0000third", "first second third"],
  ["replaces an empty text", " \n", "no reason was given"]
]

describe("sanitiseError", () => {
  for (const [fact, given, expected] of cases) {
    it(fact, () => {
      const once = sanitiseError(given)
      assert.strictEqual(once, expected)
      assert.strictEqual(sanitiseError(once), once)
    })
  }

  it("cuts at 500 characters and never inside one", () => {
    const text = sanitiseError("\u{1f600} ".repeat(400))
    assert.isAtMost(text.length, 500)
    assert.isTrue(text.isWellFormed())
  })

  it("keeps no half of a secret from a text that was cut", () => {
    const text = sanitiseError(`https://${"a".repeat(3_980)}/ token=${"s3cr3t".repeat(20)}`)
    assert.notInclude(text, "s3cr3t")
  })

  it("reads 200,000 hostile characters in linear time", () => {
    for (const piece of ["a", "a.", "a:", "/a", "=", "token=", "-"]) {
      assert.isAtMost(sanitiseError(piece.repeat(200_000 / piece.length)).length, 500)
    }
  })
})
