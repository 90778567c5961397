/**
 * The public plans of phone numbers and IBANs, which are large: each is loaded when a text first has a number that may be one.
 */
import type * as Ibans from "ibantools"
import type * as Phones from "libphonenumber-js/min"

let ibans: typeof Ibans | undefined
let phones: typeof Phones | undefined

/**
 * At once, because a text is redacted where nothing can wait. A module of Node has no `require`; an application's bundler reads the
 * other ones, and takes the packages in.
 */
// oxlint-disable-next-line no-restricted-globals -- facts import nothing of Node
const load = () => process.getBuiltinModule("node:module").createRequire(import.meta.url)

export const ibanPlans = (): typeof Ibans =>
  (ibans ??= typeof require === "function" ? require("ibantools") : load()("ibantools"))

export const phonePlans = (): typeof Phones =>
  (phones ??=
    typeof require === "function"
      ? require("libphonenumber-js/min")
      : load()("libphonenumber-js/min"))
