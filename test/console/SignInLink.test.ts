/** The link that signs in once: looking at it uses nothing, and what was used says so at once. */
import { Effect, Layer, Redacted } from "effect"
import { signInPath } from "../../layers/compose/assembly/ConsoleFeature.ts"
import * as EmbeddedHttp from "../../layers/compose/promises/EmbeddedHttp.ts"
import * as StartedLayer from "../../layers/compose/promises/StartedLayer.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { assert, it } from "vitest"
import { http, PlainBrowser, shopOptions, tenant, tokenOf } from "./ConsoleScene.ts"

it("a link signs in once, whoever looked at it before, and then says that it was used", () =>
  Effect.gen(function* () {
    const services = yield* Layer.build(StartedLayer.layer({ ...shopOptions(), http }))
    const token = Redacted.make(tokenOf("olga"))
    const link = Effect.provideContext(signInPath(Tenant.make(tenant), token), services)
    const [path, other] = [yield* link, yield* link]
    const { url = "" } = EmbeddedHttp.methods(services)
    yield* Effect.promise(async () => {
      const browser = new PlainBrowser(url)
      for (let looks = 0; looks < 2; looks++) {
        const { status, text } = await browser.get(path)
        assert.strictEqual(status, 200)
        assert.include(text, "This link signs in once.")
      }
      const [, code = ""] = /code=([^&]+)/.exec(path) ?? []
      const { text } = await browser.post("/console/sign-in", { code })
      assert.include(text, "<b>olga</b>")
      for (const used of [path, path.replace(/code=.*/, "code=none")]) {
        const again = await new PlainBrowser(url).get(used)
        assert.strictEqual(again.status, 401)
        assert.include(again.text, "This link was used before, or is too old.")
        assert.include(again.text, 'name="token"')
      }
      // From one address so many links are looked at, as tokens are tried.
      const curious = new PlainBrowser(url)
      let last = await curious.get(other)
      for (let n = 0; n < 60 && last.status === 200; n++) last = await curious.get(other)
      assert.strictEqual(last.status, 429)
    })
  }).pipe(Effect.scoped, Effect.runPromise))
