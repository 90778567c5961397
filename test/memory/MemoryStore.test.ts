import { layer } from "@effect/vitest"
import * as EphemeralMemoryStore from "../../layers/ephemeral/EphemeralMemoryStore.ts"
import { memoryStoreTests } from "../contracts/MemoryStore.contract.ts"
import { onBothEngines } from "../sql/Engines.ts"

layer(EphemeralMemoryStore.layer, { excludeTestServices: true })(
  "memories (ephemeral)",
  memoryStoreTests
)
onBothEngines("memories", memoryStoreTests)
