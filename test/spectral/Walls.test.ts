/** What the agents of the reference application have no way to, checked over the real files, each with a violation. */
import { assert, describe, it } from "vitest"
import type { Tree } from "../HouseTree.ts"
import { contextOf, load, reach } from "../HouseTree.ts"

const house = load("src", "services", "layers")

describe("the walls of the reference application", () => {
  it("SA-03 gives the tools of agents one way to a mailbox, which is the bridge to worlds", () => {
    const mailboxes = ["AgentRuntime", "TaskStore", "TaskDispatch", "Outbox"].map(
      (name) => `services/${name}.ts`
    )
    const ways = (tree: Tree) =>
      [...tree.keys()]
        .filter((path) => /^layers\/(builtin|spectral|semstreams)\//.test(path))
        .filter((path) => mailboxes.some((mailbox) => reach(tree, path).has(mailbox)))
    for (const mailbox of mailboxes) assert.isTrue(house.has(mailbox), mailbox)
    assert.deepEqual(ways(house), ["layers/spectral/worlds/LocalWorldAgentRunner.ts"])
    const planted = new Map([
      ["layers/spectral/A.ts", `import { x } from "../../services/B.ts"\n`],
      ["services/B.ts", `import type { x } from "./TaskStore.ts"\n`],
      ["services/TaskStore.ts", ""]
    ])
    assert.deepEqual(ways(planted), ["layers/spectral/A.ts"])
  })

  it("SA-27 keeps approvals of calls, what is authorised in advance and change sets apart", () => {
    const approvals = ["ApprovalDesk", "ApprovalRecords"].map((name) => `services/${name}.ts`)
    const authorizations = ["AuthorizationDesk", "AuthorizationRecords"].map(
      (name) => `services/${name}.ts`
    )
    const answers = [...house.keys()].filter((path) =>
      /^layers\/(ephemeral|stores|sql\/\w+|runtime\/approval)\/\w+(Approval|Authorization)(Desk|Records)\.ts$/.test(
        path
      )
    )
    const isAbout = (path: string, what: string) => path.includes(what)
    const mixed = (tree: Tree) =>
      [...tree.keys()].flatMap((path) => {
        const reached = reach(tree, path)
        const has = (ports: ReadonlyArray<string>) => ports.some((port) => reached.has(port))
        // The change sets of the platform wait for people in a store of their own.
        if (contextOf(path) === "platform") {
          return has([...approvals, ...authorizations]) ? [path] : []
        }
        if (!/(Approval|Authorization)(Desk|Records)\.ts$/.test(path)) return []
        const foreign = isAbout(path, "Authorization") ? approvals : authorizations
        return has(foreign) || [...reached.keys()].some((to) => contextOf(to) === "platform")
          ? [path]
          : []
      })
    for (const port of [...approvals, ...authorizations]) assert.isTrue(house.has(port), port)
    assert.lengthOf(answers, 5)
    assert.deepEqual(mixed(house), [])
    const planted = new Map([
      [
        "layers/stores/spectral/platform/A.ts",
        `import { x } from "../../../../services/ApprovalRecords.ts"\n`
      ],
      ["services/ApprovalRecords.ts", `import { x } from "./AuthorizationRecords.ts"\n`],
      [
        "services/AuthorizationRecords.ts",
        `import { x } from "./spectral/platform/ChangeSets.ts"\n`
      ],
      ["services/spectral/platform/ChangeSets.ts", ""]
    ])
    assert.deepEqual(mixed(planted), [...planted.keys()].slice(0, 3))
  })
})
