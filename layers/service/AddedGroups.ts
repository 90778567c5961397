/** Groups of operations that features add to those of every service. */
import { Context } from "effect"
import type { Described } from "../../src/operation/Problem.ts"
import type { PortError } from "./PortError.ts"
import type { AnyServed } from "./Served.ts"

/** A group: its name in the API, its title in OpenAPI, and the effects of its operations under the names of their methods. */
export interface AddedGroup {
  /** The group's name in the API, unique in the service. */
  readonly id: string
  /** Its title in OpenAPI. */
  readonly title: string
  /** The effects of its operations, by the names of their methods. */
  readonly effects: Readonly<Record<string, AnyServed<Described | PortError>>>
}

/** Keeps the types of the effects. */
export const addedGroup = <const Effects extends AddedGroup["effects"]>(
  id: string,
  title: string,
  effects: Effects
) => ({ id, title, effects })

/** The groups that the features beneath a surface add. A feature's Layer appends its own. */
export const AddedGroups = Context.Reference<ReadonlyArray<AddedGroup>>(
  "troupe/service/AddedGroups",
  { defaultValue: () => [] }
)
