/** Scopes of grants as globs, asked through the grants that hold them. */
import { assert, describe, it } from "@effect/vitest"
import { grantsOf, uncoveredCapability, globMatches } from "../../src/capability/Capability.ts"

/** Does a grant of the scope cover the wanted one? The matcher itself says the same. */
const covers = (scope: string, wanted: string): boolean => {
  const grants = grantsOf([{ name: "fs", scope }], true)
  const is = uncoveredCapability(grants, [`fs:${wanted}`]) === undefined
  assert.strictEqual(is, globMatches(scope, wanted), `${scope} ${wanted}`)
  return is
}

/** All texts of at most so many of the characters. */
const texts = (characters: string, length_max: number): ReadonlyArray<string> => {
  const found = [""]
  for (let i = 0; i < found.length; i++) {
    const text = found[i]!
    if (text.length < length_max) found.push(...[...characters].map((each) => text + each))
  }
  return found
}

describe("a glob", () => {
  it("SG-37 of stars and question marks matches what the equal regular expression does", () => {
    const all = texts("ab/", 5)
    for (const glob of texts("ab*?", 5)) {
      const pattern = new RegExp(`^${glob.replaceAll("*", "[^]*").replaceAll("?", "[^]")}$`, "u")
      for (const text of all) {
        if (globMatches(glob, text) !== pattern.test(text)) assert.fail(`${glob} ${text}`)
      }
    }
  })

  it("SG-37 with a set matches one character of it, and with ! one that is not in it", () => {
    const cases: ReadonlyArray<readonly [glob: string, held: string, others: string]> = [
      ["[abc]", "abc", "dA-[]!"],
      ["[a-c]", "abc", "d-`A"],
      ["[b-d]", "bcd", "ae-"],
      ["[a-cx-z]", "abcxyz", "dw-"],
      ["[ac-e]", "acde", "b-f"],
      ["[a-]", "a-", "b]"],
      ["[-a]", "-a", "b]"],
      ["[a-c-]", "abc-", "d"],
      ["[--a]", "-/0Aa", "b,"],
      ["[c-a]", "", "abc-"],
      ["[]]", "]", "[a"],
      ["[]a]", "]a", "[b"],
      ["[]-a]", "]^_`a", "[b-"],
      ["[!a]", "bA!-]", "a"],
      ["[!a-c]", "d-!", "abc"],
      ["[!]]", "a[!", "]"],
      ["[!]a]", "b!", "]a"],
      ["[!!]", "a", "!"],
      ["[a!]", "a!", "b"],
      ["[*]", "*", "ab"],
      ["[?]", "?", "ab"],
      ["[[]", "[", "]a"],
      ["[é-ë]", "éêë", "eè"],
      ["[😀-😂]", "😀😁😂", "😃a"]
    ]
    for (const [glob, held, others] of cases) {
      for (const each of held) {
        assert.isTrue(covers(glob, each), `${glob} ${each}`)
        assert.isTrue(covers(`x${glob}y`, `x${each}y`), `${glob} ${each}`)
        assert.isTrue(covers(`*${glob}*`, `__${each}__`), `${glob} ${each}`)
        assert.isFalse(covers(glob, `${each}${each}`), `${glob} ${each}`)
        assert.isTrue(covers(`${glob}${glob}`, `${each}${each}`), `${glob} ${each}`)
      }
      for (const each of others) assert.isFalse(covers(glob, each), `${glob} ${each}`)
      assert.isFalse(covers(glob, "undefined"))
      assert.isFalse(covers(glob, ""))
    }
  })

  it("SG-37 takes an unclosed bracket literally", () => {
    for (const glob of ["[", "[a", "[!", "[]", "[!]", "a[b", "[a-"]) {
      assert.isTrue(covers(glob, glob), glob)
      for (const other of ["a", "b", "]", "", "ab"]) {
        assert.strictEqual(covers(glob, other), glob === other, `${glob} ${other}`)
      }
    }
    assert.isTrue(covers("]", "]"))
    assert.isTrue(covers("a]", "a]"))
  })

  it("SG-37 counts a surrogate pair as one character, and is case-sensitive", () => {
    assert.isTrue(covers("?", "😀"))
    assert.isFalse(covers("??", "😀"))
    assert.isFalse(covers("a*", "A"))
  })

  it("SG-37 of many stars matches a long text in bounded time", () => {
    assert.isFalse(globMatches(`${"*a".repeat(200)}b`, "a".repeat(5_000)))
    assert.isTrue(globMatches(`${"*".repeat(500)}b`, `${"a".repeat(5_000)}b`))
  })
})
