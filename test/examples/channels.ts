import { Effect, Layer, Redacted } from "effect"
import { AgentName, AgentSpec, Principal, Tenant } from "troupe"
import { EmailChannel, SlackChannel, SlackIngress, Troupe } from "troupe/layers"
import { scripted, text } from "troupe/testing"

const spectral = AgentSpec.make({ name: AgentName.make("spectral"), instructions: "Explain." })
const tenant = Tenant.make("default")
const olga = new Principal({ id: "olga", tenant, roles: ["operator"] })

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
const app = Troupe.layer({
  agents: [spectral],
  model: scripted([text("Good morning.")]),
  http: { port: 0, tokens: [{ token: "a-token-for-olga", principal: olga }] },
  events: {
    agent: "spectral",
    // What an event causes: a message to the agent, in the conversation of the order.
    handlers: {
      "order.stuck": ({ id, subject = id }) => ({
        _tag: "Tell",
        conversation: `order~${subject}`,
        text: `Order ${subject} is stuck. Say why.`
      })
    }
  },
  channels: [
    SlackChannel.adapter.pipe(Effect.provide(slack)),
    EmailChannel.adapter.pipe(Effect.provideService(EmailChannel.EmailConfig, email))
  ],
  // Takes what people write and click in Slack, at POST /v1/channels/slack.
  ingress: SlackIngress.layer.pipe(Layer.provide(slack))
})

const ask = Effect.gen(function* () {
  const { url } = yield* Troupe
  return yield* Effect.promise(async () => {
    const forged = await fetch(`${url}/v1/channels/slack`, { method: "POST", body: "{}" })
    return `${forged.status} ${await forged.text()}`
  })
})

// A service runs `Layer.launch(app)` instead, until it is stopped.
console.log(await Effect.runPromise(Effect.provide(ask, app)))

// Output:
// 401 the request is not signed by Slack
