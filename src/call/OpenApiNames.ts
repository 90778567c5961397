/**
 * Names for the arguments of an imported operation.
 */
import { isUnsafeName } from "./BodyPath.ts"

/** The property names that every provider accepts. */
const legal = /^[A-Za-z0-9_.-]{1,64}$/

export const isLegalName = (name: string): boolean => legal.test(name) && !isUnsafeName(name)

/** A name for a value in the arguments that no other argument has. `where` says what it is, such as `query`. */
export const aliasOf = (name: string, where: string, taken: ReadonlySet<string>): string => {
  const plain = name.replaceAll(/[^A-Za-z0-9_]/g, "_").replace(/^(?=\d|$)/, "_")
  const wanted = isUnsafeName(plain) ? `${where}_${plain}` : plain
  let alias = wanted.slice(0, 50)
  if (taken.has(alias)) alias = `${where}_${alias}`
  for (let n = 2; taken.has(alias); n++) alias = `${where}_${wanted.slice(0, 40)}_${n}`
  return alias
}
