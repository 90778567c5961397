import * as EphemeralMcpPins from "../../layers/ephemeral/EphemeralMcpPins.ts"
import { mcpPinsContract } from "../contracts/McpPins.contract.ts"

mcpPinsContract("ephemeral", EphemeralMcpPins.layer)
