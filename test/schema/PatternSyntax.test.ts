/** Patterns mean what they mean in JavaScript, at every door, in linear time; what cannot be so is refused at the start. */
import { Effect, Exit, Result } from "effect"
import { assert, describe, it } from "vitest"
import * as z from "zod"
import { compileForeignSchema } from "../../layers/mcp/ForeignSchema.ts"
import { fitAnswer } from "../../src/run/AnswerSchema.ts"
import { linearPattern } from "../../src/schema/LinearPattern.ts"
import { givenCodec, jsonSchemaInput } from "../../src/tool/ToolCodec.ts"

const inJavaScript = (source: string): RegExp => {
  try {
    return new RegExp(source, "u")
  } catch {
    return new RegExp(source)
  }
}

const isAstral = (text: string): boolean => /[\ud800-\udfff]/.test(text)

/** Without Unicode mode, which not every pattern is of, an astral character is two. */
const textsFor = (pattern: RegExp): ReadonlyArray<string> =>
  pattern.unicode ? texts : texts.filter((text) => !isAstral(text))

const texts = [
  "",
  " ",
  "\u00a0",
  "\u2028",
  "\v",
  "\r",
  "\n",
  "a",
  "A",
  "é",
  "-",
  "_",
  "]",
  "[",
  "^",
  "\\",
  "/",
  "{",
  "}",
  "1",
  "😀",
  "a\n",
  "ab",
  "a-b",
  "a.b",
  "Aa",
  "aZ",
  "Qa.bE",
  ":a",
  "pL",
  "\b",
  "\0",
  "\u0001",
  "a{,5}",
  "α",
  "ſ",
  "K",
  "k",
  "Passw0rd1",
  "password",
  "-a-",
  "a-",
  "abc",
  "ABC",
  "\ufeff",
  "\x85"
]

const patterns = [
  "^\\s$",
  "^\\S$",
  "^[\\s]$",
  "^[^\\s]$",
  "^[\\S]$",
  "^[^\\S]$",
  "^.$",
  "^.*$",
  "^[^]$",
  "^[]$",
  "a$",
  "^a",
  "\\Aa",
  "a\\Z",
  "\\Qa.b\\E",
  "^[[:alpha:]]$",
  "^\\/$",
  "^\\cA$",
  "^\\u0041$",
  "^\\x41$",
  "^\\0$",
  "^\\-$",
  "^[\\b]$",
  "^\\p{L}$",
  "^\\p{Script=Greek}$",
  "^\\p{Lu}$",
  "^\\P{ASCII}$",
  "^(?<n>a)$",
  "^(?i:a)$",
  "^(?s:.)$",
  "^(?i:k)$",
  "^\\w$",
  "\\ba",
  "\\Ba",
  "^[\\w-]+$",
  "^[\\w.-]+$",
  "^[\\w-.]$",
  "^[a-]$",
  "^[-a]$",
  "^[a\\-z]$",
  "^{$",
  "^a{,5}$",
  "^]$",
  "^\\a$",
  "^\\pL$",
  "^\\_$",
  "^[^\\d]$",
  "^[\\D]$",
  "^[\\W]$",
  "^\\ud83d\\ude00$",
  "^[\\ud83d\\ude00]$",
  "^[^a-z]$",
  "^[A-\\x5a]$",
  "^[\\^]$",
  "^[^^]$",
  "^(?:a|b)+$",
  "^(?:([a-z]+)-)?(?:(a)|(?<n>b))$",
  "^(?i-s:(a)(?s-i:b.))$",
  "a|^b$",
  "^a{1,2}?$",
  "",
  "^(?=.*[A-Z])(?=.*\\d).{8,}$",
  "^(?!a$).*$",
  "^(?!-)[a-z-]*(?<!-)$",
  "^[a-z-]+(?<=b)$",
  "^(?=[a)])a",
  "^[+\\-*/]$",
  "^a\\-b$",
  "^\\@?a$",
  "^\\[$",
  "^[\\]]$",
  "^[\\\\]$",
  "^\\.$"
]

describe("a pattern", () => {
  it("matches what it matches in JavaScript", () => {
    for (const source of patterns) {
      const read = linearPattern(source)
      assert.isTrue(
        Result.isSuccess(read),
        `${source} ${Result.isFailure(read) ? read.failure : ""}`
      )
      if (Result.isFailure(read)) continue
      const javascript = inJavaScript(source)
      for (const text of textsFor(javascript)) {
        assert.strictEqual(
          read.success.test(text),
          javascript.test(text),
          `${source} ${JSON.stringify(text)}`
        )
      }
    }
  })

  it("made of random parts matches what it matches in JavaScript", () => {
    const parts = [
      "a",
      "b",
      ".",
      "\\s",
      "\\S",
      "\\w",
      "\\W",
      "\\d",
      "[a-c]",
      "[^\\s-]",
      "[\\]\\w]",
      "(?:",
      "(",
      ")",
      "|",
      "*",
      "+?",
      "{0,2}",
      "^",
      "$",
      "\\b",
      "-",
      "\\-"
    ]
    let seed = 7
    const next = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below
    let read = 0
    for (let n = 0; n < 4_000; n++) {
      const source = Array.from({ length: 1 + next(7) }, () => parts[next(parts.length)]).join("")
      let javascript: RegExp
      try {
        javascript = inJavaScript(source)
      } catch {
        assert.isTrue(Result.isFailure(linearPattern(source)), source)
        continue
      }
      const found = linearPattern(source)
      assert.isTrue(Result.isSuccess(found), source)
      if (Result.isFailure(found)) continue
      read++
      for (const text of textsFor(javascript)) {
        assert.strictEqual(
          found.success.test(text),
          javascript.test(text),
          `${source} ${JSON.stringify(text)}`
        )
      }
    }
    assert.isAbove(read, 500)
  })

  it("that JavaScript does not read, or that needs more than linear time, is refused and says why", () => {
    for (const [source, why] of [
      ["^(?i)a$", "JavaScript"],
      ["(?P<n>a)", "JavaScript"],
      ["a++", "JavaScript"],
      ["(a", "JavaScript"],
      ["(a)\\1", "refers back"],
      ["(?<n>a)\\k<n>", "refers back"],
      ["a(?=b)c", "looks ahead"],
      ["^(?=a)b|c", "looks ahead"],
      ["(?:(?!a)b)*", "looks ahead"],
      ["^(?=(?=a)b)c", "looks ahead"],
      ["(?:a{1,1000}){1,1000}", "too large"]
    ] as const) {
      const read = linearPattern(source)
      assert.isTrue(Result.isFailure(read), source)
      if (Result.isFailure(read)) assert.include(read.failure, why, source)
    }
  })
})

const schemaOf = (pattern: string) => ({
  type: "object",
  properties: { id: { type: "string", pattern } },
  required: ["id"]
})

describe("a pattern of a schema", () => {
  const doors = (pattern: string): ReadonlyArray<(id: string) => boolean> => {
    const tool = Effect.runSync(jsonSchemaInput("tool", schemaOf(pattern)))
    const foreign = Result.getOrThrow(compileForeignSchema(schemaOf(pattern)))
    return [
      (id) => Exit.isSuccess(tool.decode({ id })),
      (id) => Exit.isSuccess(foreign({ id })),
      (id) => Result.isSuccess(fitAnswer(schemaOf(pattern) as never, JSON.stringify({ id })))
    ]
  }

  it("is the same for a tool, a server of MCP and an answer", () => {
    for (const [pattern, good, bad] of [
      ["^[0-9]{2}\\-[a-z]+$", "12-ab", "12ab"],
      ["^\\S+\\s\\S+$", "a\u00a0b", "a\u200bb"],
      ["^(?!admin$).+$", "bob", "admin"],
      ["^.$", "😀", "\r"]
    ] as const) {
      for (const fits of doors(pattern)) {
        assert.isTrue(fits(good), pattern)
        assert.isFalse(fits(bad), pattern)
      }
    }
  })

  it("has its flags in an answer by zod", () => {
    const codec = Result.getOrThrow(
      givenCodec(
        z.object({
          id: z
            .string()
            .min(1)
            .regex(/^ab.$/is)
            .regex(/^[a-c\n]+$/i),
          plain: z.string().regex(/^a$/)
        })
      )
    )
    const fit = (id: string, plain = "a") =>
      Result.isSuccess(fitAnswer(codec.json_schema as never, JSON.stringify({ id, plain })))
    assert.isTrue(fit("AB\n"))
    assert.isFalse(fit("Ab"))
    assert.isFalse(fit("abc", "A"))
  })

  it("that cannot be read refuses the declaration of the tool", () => {
    for (const pattern of ["(?i)a", "(a)\\1"]) {
      const made = Effect.runSyncExit(jsonSchemaInput("tool", schemaOf(pattern)))
      assert.isTrue(Exit.isFailure(made))
      assert.include(String(Exit.isFailure(made) ? made.cause : ""), "pattern")
    }
  })
})
