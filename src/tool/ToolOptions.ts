/**
 * Checks the options of the built-in tools: a misspelt option would be a missing guard.
 */
import type { MisdeclaredTool } from "./MisdeclaredTool.ts"
import { misdeclared } from "./MisdeclaredTool.ts"
import { suggestNames } from "../value/Nearest.ts"

/** The error for the first option that is unknown; undefined = all options are known. */
export const strayOption = <Options extends object>(
  tool: string,
  options: Options,
  known: Readonly<Record<keyof Options, true>>
): MisdeclaredTool | undefined => {
  const stray = Object.keys(options).find((name) => !Object.hasOwn(known, name))
  return stray === undefined
    ? undefined
    : misdeclared(
        tool,
        stray,
        `there is no such option.${suggestNames(stray, Object.keys(known))}`,
        "Leave it out"
      )
}
