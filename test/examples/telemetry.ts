/**
 * Sends a run's traces, metrics and logs to an OTLP collector. This file starts a small one; use the address of yours.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { AgentSpec } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const received = new Set<string>()
const collector = createServer((request, response) => {
  received.add(request.url!)
  request.resume().on("end", () => response.end())
})
await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve))
const { port } = collector.address() as AddressInfo

const troupe = await start({
  agents: [AgentSpec.make({ name: "shop", instructions: "Help customers." })],
  model: scripted([text("Good morning.")]),
  telemetry: { endpoint: `http://127.0.0.1:${port}`, service: "shop" }
})
const { status } = await troupe.ask({ agent: "shop", text: "Good morning" })
await troupe.stop()
console.log(status, received.has("/v1/traces"), received.has("/v1/metrics"))
collector.close()

// Output:
// complete true true
