/** What requests of A2A are answered with: one object of JSON-RPC, or an event stream of them. */
import type { Problem } from "../../../src/operation/Problem.ts"
import { refusalOf } from "../../../src/wire/A2aShapes.ts"
import type { A2aTask } from "../../../src/wire/A2aTasks.ts"
import type { RpcId } from "../../../src/wire/JsonRpc.ts"
import { rpcError } from "../../../src/wire/JsonRpc.ts"
import type { WireTexts } from "./WireStream.ts"

export const resultOf = (id: RpcId, result: object): object => ({ jsonrpc: "2.0", id, result })
const failureOf = (id: RpcId, problem: Problem): object => rpcError({ ...refusalOf(problem), id })

/** The task as one object, when it has ended or waits for people. */
export const wholeTexts = (id: RpcId, maker: A2aTask): WireTexts => ({
  start: "",
  next: (step, place) => {
    maker.next(step, place)
    return ""
  },
  working: (place) => {
    maker.working(place)
    return ""
  },
  failed: (problem) => JSON.stringify(failureOf(id, problem)),
  end: () => JSON.stringify(resultOf(id, { task: maker.task })),
  beat: " ",
  contentType: "application/json"
})

/** The task as it is, and what changes from then on. */
export const streamTexts = (id: RpcId, maker: A2aTask): WireTexts => {
  const frame = (result: object) => `data: ${JSON.stringify(resultOf(id, result))}\n\n`
  let isTold = false
  const after = (frames: ReadonlyArray<object>) => (isTold ? frames.map(frame).join("") : "")
  const told = () => {
    if (isTold) return ""
    isTold = true
    return frame({ task: maker.task })
  }
  return {
    start: "",
    working: (place) => after(maker.working(place)),
    next: (step, place) => after(maker.next(step, place)),
    live: told,
    failed: (problem) => `data: ${JSON.stringify(failureOf(id, problem))}\n\n`,
    end: told
  }
}
