import { createHash } from "node:crypto"
import { Effect, Layer, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { AgentName, AgentSpec, Principal, Tenant } from "troupe"
import * as Server from "troupe/http"
import { Channels, EmailChannel, Runtime, SlackChannel, SlackIngress, Stores } from "troupe/layers"
import { scripted, text } from "troupe/testing"

const spectral = AgentSpec.make({ name: AgentName.make("spectral"), instructions: "Explain." })
const tenant = Tenant.make("default")
const olga = new Principal({ id: "olga", tenant, roles: ["operator"] })
const token = "a-token-for-olga"
const sha256 = createHash("sha256").update(token).digest("hex")

const slack = Layer.succeed(SlackChannel.SlackConfig, {
  token: Redacted.make("xoxb-..."),
  signing_secret: Redacted.make("..."),
  team: "T012AB3CD",
  tenant,
  // Who clicks a button is one of these, or decides nothing.
  people: [{ user: "U012AB3CD", principal: olga }]
})
const email = {
  host: "smtp.example.com",
  port: 587,
  user: "troupe",
  password: Redacted.make("..."),
  from: "Troupe <troupe@example.com>"
}
const channels = Channels.make({
  events: {
    agent: spectral,
    // What an event causes: a message to the agent, in the conversation of the order.
    handlers: {
      "order.stuck": ({ id, subject = id }) => ({
        _tag: "Tell",
        conversation: `order~${subject}`,
        text: `Order ${subject} is stuck. Say why.`
      })
    }
  },
  adapters: [
    SlackChannel.adapter.pipe(Effect.provide(slack)),
    EmailChannel.adapter.pipe(Effect.provideService(EmailChannel.EmailConfig, email))
  ]
})
const app = Server.layer({ listen: { port: 0 }, credentials: [{ sha256, principal: olga }] }).pipe(
  // Takes what people write and click in Slack, at POST /v1/channels/slack.
  Layer.provide(SlackIngress.layer.pipe(Layer.provide(slack))),
  Layer.provideMerge(
    Runtime.layer({ agents: [spectral], tools: [], deliveries: channels.deliveries })
  ),
  Layer.provideMerge(channels.layer),
  Layer.provide(scripted([text("Good morning.")])),
  Layer.provideMerge(Stores.ephemeral)
)

const ask = Effect.gen(function* () {
  const { address } = yield* HttpServer.HttpServer
  const url = HttpServer.formatAddress(address)
  return yield* Effect.promise(async () => {
    const forged = await fetch(`${url}/v1/channels/slack`, { method: "POST", body: "{}" })
    return `${forged.status} ${await forged.text()}`
  })
})

// A service runs `Layer.launch(app)` instead, until it is stopped.
console.log(await Effect.runPromise(Effect.provide(ask, app)))

// Output:
// 401 the request is not signed by Slack
