/** Secrets that are known by their text: each form in which a text may quote them is replaced. */
import { assert, describe, it } from "vitest"
import { redacted, secretForms, withoutSecrets } from "../../src/error/KnownSecrets.ts"

const mark = "[secret]"
const secret = 'päss/"wörd" & <7>+'
const forms = secretForms([secret])

/** Quotes the text in one encoding. */
const encodings: ReadonlyArray<(text: string) => string> = [
  (text) => text,
  (text) => JSON.stringify({ text }),
  (text) => JSON.stringify(JSON.stringify({ text })),
  (text) => JSON.stringify(text).replaceAll("/", "\\/"),
  (text) =>
    JSON.stringify(text).replace(
      /[^ -~]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
    ),
  encodeURIComponent,
  encodeURI,
  (text) => encodeURIComponent(text).toLowerCase().replaceAll("%c3%b6", "%c3%b6"),
  (text) => new URLSearchParams({ text }).toString(),
  (text) =>
    text
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;"),
  (text) => Buffer.from(text).toString("hex"),
  (text) => Buffer.from(text).toString("hex").toUpperCase()
]

describe("a known secret", () => {
  it("is replaced in every encoding, within a longer text", () => {
    for (const encoded of encodings) {
      const quoted = `before ${encoded(secret)} after`
      const clean = redacted(quoted, forms)
      assert.include(clean, mark, quoted)
      for (const part of ["wörd", "w%C3%B6rd", "w%c3%b6rd", "77c3b67264", "w\\u00f6rd"]) {
        assert.notInclude(clean.toLowerCase(), part.toLowerCase(), quoted)
      }
    }
  })

  it("is replaced within the base64 of a longer text, wherever its bytes begin", () => {
    const bare = secretForms(["swordfish-of-olga"])
    for (const before of ["", "a", "ab", "abc", "user:"]) {
      for (const encoding of ["base64", "base64url"] as const) {
        const clean = redacted(
          Buffer.from(`${before}swordfish-of-olga${before}`).toString(encoding),
          bare
        )
        assert.include(clean, mark)
        // At most the characters at its ends, which hold bits of its neighbours, are left.
        assert.notInclude(Buffer.from(clean.replace(mark, ""), encoding).toString("latin1"), "ord")
      }
    }
  })

  it("of several, one inside another leaves nothing of the longer one", () => {
    assert.strictEqual(
      redacted("hunter2-of-olga", secretForms(["hunter2", "hunter2-of-olga"])),
      mark
    )
  })

  it("under 6 characters is replaced only where it is a word of its own", () => {
    const short = secretForms(["47#1", "7"])
    assert.strictEqual(
      redacted("pin 47#1, 147#12 and 7 of 70", short),
      `pin ${mark}, 147#12 and ${mark} of 70`
    )
    assert.deepStrictEqual(withoutSecrets({ n: 7, m: 70, of: [7.5, "7"] }, short), {
      n: mark,
      m: 70,
      of: [7.5, mark]
    })
    assert.strictEqual(redacted("anything", secretForms(["", " "])), "anything")
  })

  it("with white space around it is replaced without it, too", () => {
    assert.strictEqual(redacted("<swordfish>", secretForms([" swordfish\n"])), `<${mark}>`)
  })

  it("that is no well-formed text is replaced as it is", () => {
    assert.strictEqual(redacted("a \ud800hunter2 b", secretForms(["\ud800hunter2"])), `a ${mark} b`)
  })
})
