import { AgentSpec } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
const model = scripted([text("Good morning.")])
const client_secret = process.env["OIDC_CLIENT_SECRET"] ?? "of your secrets"

const troupe = await start({
  agents: [shop],
  model,
  http: {
    port: 0,
    tokens: [],
    console: {
      openid: {
        name: "Acme",
        issuer: "https://login.acme.example/realms/acme",
        client_id: "troupe",
        client_secret,
        url: "https://ops.acme.example/console",
        principal: {
          tenant: "default",
          roles: { "troupe-operators": "operator", "troupe-approvers": ["viewer", "approver"] }
        }
      }
    }
  }
})
const page = await (await fetch(`${troupe.url}/console/sign-in`)).text()
console.log(/Sign in with \w+/.exec(page)?.[0])
await troupe.stop()

// Output:
// Sign in with Acme
