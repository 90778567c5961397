/** Groups of operations that features add to those of every service. */
import { Context } from "effect"
import { groupOf } from "../../src/operation/Endpoint.ts"
import type { Described } from "../../src/operation/Problem.ts"
import type { NotEntitled } from "../../src/principal/NotEntitled.ts"
import { TroupeApi } from "../../src/operation/TroupeApi.ts"
import type { StoreError } from "../../services/StoreError.ts"
import type { AnyServed } from "./Served.ts"

/** A group: its name in the API, its title in OpenAPI, and the effects of its operations under the names of their methods. */
export interface AddedGroup {
  readonly id: string
  readonly title: string
  readonly effects: Readonly<Record<string, AnyServed<Described | NotEntitled | StoreError>>>
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

const endpointsOf = ({ effects, id, title }: AddedGroup) =>
  groupOf(
    id,
    title,
    Object.fromEntries(Object.entries(effects).map(([name, { operation }]) => [name, operation]))
  )

/** The API of a service with these groups. */
export const apiWith = (groups: ReadonlyArray<AddedGroup>): typeof TroupeApi =>
  groups.reduce((api, group) => api.add(endpointsOf(group)) as never, TroupeApi)
