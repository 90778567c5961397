/** The API of a service that has more groups of operations than every service has. */
import { groupOf } from "../../src/operation/Endpoint.ts"
import { TroupeApi } from "../../src/operation/TroupeApi.ts"
import type { AddedGroup } from "./AddedGroups.ts"

const endpointsOf = ({ effects, id, title }: AddedGroup) =>
  groupOf(
    id,
    title,
    Object.fromEntries(Object.entries(effects).map(([name, { operation }]) => [name, operation]))
  )

/** The API of a service with these groups. */
export const apiWith = (groups: ReadonlyArray<AddedGroup>): typeof TroupeApi =>
  groups.reduce((api, group) => api.add(endpointsOf(group)) as never, TroupeApi)
