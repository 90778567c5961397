/** The table of rights: which methods and routes need each of them, and who has it. */
import { Context } from "effect"
import { HttpApi } from "effect/http-api"
import { operations } from "../../layers/service/ServiceOperations.ts"
import { Authentication, Needs } from "../../src/operation/Boundary.ts"
import { TroupeApi } from "../../src/operation/TroupeApi.ts"
import type { RightName } from "../../src/principal/Rights.ts"
import { rights } from "../../src/principal/Rights.ts"

const ranks = ["viewer", "approver", "operator", "customer", "publisher"] as const
const reaches = { all: "yes", own: "its own", named: "if named" } as const

const code = (all: ReadonlyArray<string>) => all.map((each) => `\`${each}\``).join(", ")

const routesOf = (right: RightName): ReadonlyArray<string> => {
  // It is no route of the API, but of the server.
  const found: Array<string> = right === "inspect" ? ["GET /metrics"] : []
  HttpApi.reflect(TroupeApi, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint }) => {
      const isOpen = ![...endpoint.middlewares].some(({ key }) => key === Authentication.key)
      if (isOpen || Context.get(endpoint.annotations, Needs) !== right) return
      found.push(`${endpoint.method} ${endpoint.path.replaceAll(/:(\w+)/g, "{$1}")}`)
    }
  })
  return found
}

/** The cells of each row. `byHand` has the methods that no operation declares. */
export const rightsTable = (
  byHand: Readonly<Partial<Record<RightName, object>>>
): ReadonlyArray<ReadonlyArray<string>> =>
  (Object.keys(rights) as ReadonlyArray<RightName>).map((right) => {
    const methods = Object.values(operations)
      .filter(({ operation }) => operation.right === right)
      .map(({ operation }) => operation.name)
    const cells = ranks.map((rank) => {
      const reach = rights[right][rank]
      return reach === undefined ? "" : reaches[reach]
    })
    return [
      code([...Object.keys(byHand[right] ?? {}), ...methods]),
      code(routesOf(right)),
      ...cells
    ]
  })
