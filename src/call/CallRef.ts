/**
 * References that tell the gateway what to run, such as `tools.composio.github.create_issue.my-gh`, and the names under which
 * models see them. A model's name has `__` in place of each dot, and can be mapped back.
 */
import { Result } from "effect"
import { truncateUnits } from "../value/CutText.ts"

const segment = /^[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?$/
const model_name = /^[A-Za-z0-9_-]{1,64}$/

/** The namespace of the platform's own operations, which the gateway does not serve. */
export const platform_prefix = "tools.agenta."

export type CallRef =
  | {
      readonly _tag: "Gateway"
      readonly provider: string
      readonly integration: string
      readonly action: string
      readonly connection: string
    }
  | { readonly _tag: "Variant"; readonly slug: string; readonly version: string | undefined }
  | { readonly _tag: "Environment"; readonly environment: string; readonly slug: string }
  | { readonly _tag: "Platform"; readonly op: string }

/** At most 200 letters, digits, `-` and `_`, with a letter or digit at both ends and no two `_` in a row. */
export const isRefSegment = (text: string): boolean =>
  text.length <= 200 && segment.test(text) && !text.includes("__")

const variantOf = ([slug, version, ...more]: ReadonlyArray<string>): CallRef | undefined =>
  slug === undefined || more.length > 0 ? undefined : { _tag: "Variant", slug, version }

const environmentOf = ([environment, slug, ...more]: ReadonlyArray<string>): CallRef | undefined =>
  environment === undefined || slug === undefined || more.length > 0
    ? undefined
    : { _tag: "Environment", environment, slug }

const toolOf = (rest: ReadonlyArray<string>): CallRef | undefined => {
  const [provider, integration, action, connection, ...more] = rest
  if (provider === "agenta") {
    return integration !== undefined && rest.length === 2
      ? { _tag: "Platform", op: integration }
      : undefined
  }
  return provider === undefined ||
    integration === undefined ||
    action === undefined ||
    connection === undefined ||
    more.length > 0
    ? undefined
    : { _tag: "Gateway", provider, integration, action, connection }
}

export const parseCallRef = (text: string): Result.Result<CallRef, string> => {
  const parts = text.split(".")
  const [family, kind, ...rest] = parts
  const found = !parts.every(isRefSegment)
    ? undefined
    : family === "tools"
      ? toolOf(parts.slice(1))
      : family === "workflow" && kind === "variant"
        ? variantOf(rest)
        : family === "workflow" && kind === "environment"
          ? environmentOf(rest)
          : undefined
  return found === undefined
    ? Result.fail(`"${truncateUnits(text, 200)}" is no reference to a tool`)
    : Result.succeed(found)
}

/** Fails with a sentence if it is over 64 characters, has one that is not allowed, or cannot be mapped back. */
export const modelNameOf = (ref: string): Result.Result<string, string> => {
  const name = ref.replaceAll(".", "__")
  if (!model_name.test(name)) {
    return Result.fail(
      `"${truncateUnits(name, 100)}" is longer than 64 characters, or has others than letters, digits, _ and -`
    )
  }
  return refOf(name) === ref
    ? Result.succeed(name)
    : Result.fail(`"${truncateUnits(ref, 100)}" cannot be mapped back from "${name}"`)
}

export const refOf = (name: string): string => name.replaceAll("__", ".")
