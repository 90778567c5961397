/**
 * Computes the turns of agents that are graphs, and passes every other agent's requests to the wrapped gateway. Results of a
 * node's calls are read from the journal, where they are complete, because a transcript has only a model's copy.
 */
import { createHash } from "node:crypto"
import { Effect, Layer, Result } from "effect"
import { truncateUnits } from "../../../src/value/CutText.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { nextTurn } from "../../../src/graph/GraphTurn.ts"
import { graphText } from "../../../src/graph/ToolGraph.ts"
import type { ToolGraph } from "../../../src/graph/ToolGraph.ts"
import type { RunEvent } from "../../../src/run/RunEvent.ts"
import type { ModelRequest } from "../../../services/ModelGateway.ts"
import { ModelError, ModelGateway } from "../../../services/ModelGateway.ts"
import { forEachEntry, RunReader } from "../../../services/RunReader.ts"

const page_max = 1_000

/** A graph, and the name that its turns record for it. A frame whose turns were made by another version cannot continue. */
interface Versioned {
  readonly graph: ToolGraph
  readonly origin: string
}

const versioned = (graph: ToolGraph): Versioned => ({
  graph,
  origin: `graph/${createHash("sha256").update(graphText(graph)).digest("hex").slice(0, 16)}`
})

const make = Effect.fnUntraced(function* (graphs: ReadonlyArray<ToolGraph>) {
  const beneath = yield* ModelGateway
  const reader = yield* RunReader
  const byName = new Map<string, Versioned>(
    graphs.map((graph) => [graph.spec.name, versioned(graph)])
  )

  const eventsOf = Effect.fnUntraced(function* (run: RunId) {
    const events: Array<RunEvent> = []
    yield* forEachEntry(reader, run, page_max, ({ event }) => void events.push(event))
    return events
  })

  const turn = Effect.fnUntraced(
    function* ({ graph, origin }: Versioned, { frame, run }: ModelRequest) {
      const next = nextTurn(graph, origin, frame, yield* eventsOf(run))
      if (Result.isSuccess(next)) return next.success
      const message = truncateUnits(`graph "${graph.spec.name}": ${next.failure}`, 2_000)
      return yield* new ModelError({ kind: "refused", reason: "graph_stopped", message })
    },
    Effect.catchTag(
      ["JournalError", "RunQuarantined"],
      ({ message }) => new ModelError({ kind: "transient", message })
    )
  )

  return ModelGateway.of({
    ...beneath,
    turn: (request, sink) => {
      const graph = byName.get(request.agent)
      return graph === undefined ? beneath.turn(request, sink) : turn(graph, request)
    }
  })
})

export const layer = (
  graphs: ReadonlyArray<ToolGraph>
): Layer.Layer<ModelGateway, never, ModelGateway | RunReader> =>
  Layer.effect(ModelGateway, make(graphs))
