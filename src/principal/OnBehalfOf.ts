/**
 * The header by which the bearer of a token says for whom it acts: `on-behalf-of: carl`, with roles other than `customer` as in
 * `on-behalf-of: anna; roles=approver viewer`. The id is percent-encoded UTF-8.
 */
import { Result } from "effect"
import type { Role } from "./Principal.ts"

/** The header's name. */
export const on_behalf_of = "on-behalf-of"

/**
 * No comma: two headers are joined by one, and say nothing together. An id has at most 200 characters, of 4 bytes that are written
 * as 3 characters each.
 */
const form =
  /^([\x21-\x2b\x2d-\x3a\x3c-\x7e]{1,2400})(?:; ?roles=([a-z0-9_-]{1,63}(?: [a-z0-9_-]{1,63}){0,15}))?$/

/** The roles of a user where the header names none. */
const roles_default: ReadonlyArray<Role> = ["customer"]

/** For whom the header says that its sender acts. Undefined = it does not have this form. */
export const namedUser = (
  header: string
): { readonly id: string; readonly roles: ReadonlyArray<Role> } | undefined => {
  const [, encoded = "", roles] = form.exec(header) ?? []
  const id = Result.getOrElse(
    Result.try(() => decodeURIComponent(encoded)),
    () => ""
  )
  return id === "" ? undefined : { id, roles: roles?.split(" ") ?? roles_default }
}
