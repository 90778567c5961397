/**
 * Runs every function that looks for something in a text from outside over long texts that were made to be looked through
 * again and again, and writes the name of each when it is done. In a process of its own, so that one that never ends can
 * be stopped.
 */
import { argsSummary } from "../../src/approval/ArgsSummary.ts"
import { redact } from "../../src/error/Redaction.ts"
import { detailOf } from "../../src/call/ErrorDetail.ts"
import { globMatches } from "../../src/capability/Capability.ts"
import { sanitiseError } from "../../src/error/Exception.ts"
import { classifyName } from "../../src/error/Classify.ts"
import { readJson } from "../../src/value/BoundedJson.ts"
import { linearPattern } from "../../src/schema/LinearPattern.ts"
import { fillTemplates, malformedTemplate, pathsReadBy } from "../../src/graph/StateTemplate.ts"
import { Policy, permissionFor } from "../../src/permission/Policy.ts"
import { stepOfCall } from "../../src/replay/Divergence.ts"
import { shownDescription } from "../../src/mcp/McpTool.ts"
import { redacted } from "../../src/error/KnownSecrets.ts"
import { didYouMean, strayMembers, suggestNames } from "../../src/value/Nearest.ts"
import { cleanResult, sanitiseText } from "../../src/tool/Sanitise.ts"
import { timeoutMs } from "../../src/semstreams/ToolTimeout.ts"
import { statedRateLimit } from "../../layers/model/wire/RateLimitHeaders.ts"
import { errorOfThrown, isTooLong } from "../../layers/model/wire/ProviderError.ts"
import { parseCursor } from "../../layers/http/stream/EventStream.ts"
import { Result } from "effect"

const units = Number(process.argv[2] ?? 100_000)
const many = (piece: string): string =>
  piece.repeat(Math.ceil(units / piece.length)).slice(0, units)

const words =
  "a. a- a1 1- 1. a@ @a. a: :: a/ /a \\a 1: {{ {{state.a. (( a( __system__ <|im_ %20 \\u00 http:// https://a. token= " +
  "eyJ. eyJa.a sk- ABCD1234 0123456789abcdef- a=b& &amp; user:pass@ +1 1.1.1.1. DE89 (4 7- 1/1/ x1 \ufdfa \u2474"
const phrases =
  "a b|1 | (|bearer |{{ state.a |1234 |+1 (415) |Bearer a |rate limit |exceeds the model|1 |4 1 5 5 |" +
  "4111 1111 1111 1111 |AB12 CD34 |415 555 2671 |555 555 2671,|+1555 555 2671 1|+49 1 1 1 1 1 1 1 1,|password=password="
const characters = "a1A_-. /:@%\"'\\,;=+(<{[~\t\n\u200b\u00e90"
const pieces = [...characters.split(""), ...words.split(" "), ...phrases.split("|")]
const texts = pieces.flatMap((piece) => {
  const long = many(piece)
  return [long, `${long}!`, `(\n"${long}\u0000) x@`]
})

const redaction = { secrets: [], provider: "p" } as never

const policy = Policy.make({ rules: [{ pattern: "t(git push:*)", permission: "deny" }] })
const permission = permissionFor(policy, {
  name: "t",
  category: "mutate",
  read_only: false,
  arguments: ["command"],
  rule_arguments: ["command"]
})
const patterns = ["^(a+)+$", "(a|a)*b", "([^@]+)+@", "^(\\d+\\.?)+$", "\\s+$", "(x+x+)+y"].map(
  (each) => Result.getOrThrow(linearPattern(each))
)

const table: Readonly<Record<string, (text: string) => unknown>> = {
  linearPattern: (text) => patterns.map((each) => each.test(text)),
  readJson: (text) => [readJson(text), readJson(JSON.stringify([text]))],
  redact,
  argsSummary: (text) => argsSummary({ text, [text]: 1 }),
  sanitiseError,
  sanitiseText,
  cleanResult: (text) => [
    cleanResult(JSON.stringify({ text }), false),
    cleanResult(JSON.stringify(text), true)
  ],
  classifyName,
  nearest: (text) => didYouMean(text, ["refund", text]),
  suggestion: (text) => suggestNames(text, ["refund", "repay"]),
  strayMembers: (text) => strayMembers({ [text]: 1 }, { properties: { [text + "x"]: {}, a: {} } }),
  timeoutMs,
  template: (text) => [
    pathsReadBy(text),
    malformedTemplate(text),
    fillTemplates(text, new Map([["a", text]]))
  ],
  permission: (text) =>
    typeof permission === "function" ? permission({ command: text }, undefined) : permission,
  glob: (text) => [globMatches("/srv/*/*.txt", text), globMatches("*a*b", text)],
  stepOfCall,
  detailOf: (text) => detailOf(JSON.stringify({ detail: text })),
  mcpDescription: (text) =>
    shownDescription({ name: "t", description: text.slice(0, 65_536), inputSchema: {} } as never),
  mcpRedacted: (text) => redacted(text, ["canary"]),
  rateLimit: (text) =>
    statedRateLimit({ "retry-after": text, "x-ratelimit-reset-requests": text }, 0),
  contextLength: (text) => isTooLong([text], text),
  providerError: (text) => errorOfThrown(new Error(text), redaction, 0),
  cursor: parseCursor
}

const slow = process.argv[3] !== undefined
for (const [name, look] of Object.entries(table)) {
  const began = performance.now()
  let worst = 0
  let at = ""
  for (const text of texts) {
    const before = performance.now()
    look(text)
    const took = performance.now() - before
    if (took > worst) {
      worst = took
      at = text.slice(0, 24)
    }
  }
  process.stdout.write(
    slow
      ? `${name} ${Math.round(performance.now() - began)} worst ${Math.round(worst)} ${JSON.stringify(at)}\n`
      : `${name}\n`
  )
}
