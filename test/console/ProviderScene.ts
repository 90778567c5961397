/** A real identity provider in this process, and a browser without a script that goes from one host to the other. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Provider } from "oidc-provider"
import type { Configuration } from "oidc-provider"
import type { OpenIdOptions } from "troupe/embed"
import { assert } from "vitest"
import { http } from "./ConsoleScene.ts"

export const client_id = "console"
export const client_secret = "a-secret-of-the-console"

/** Who has an account there, with what the provider says of them. Each signs in with any password. */
const accounts: Record<string, Record<string, unknown>> = {
  "u-olga": { groups: ["sre", "lunch"], org: "default", email: "olga@acme.example" },
  "u-vera": { groups: "readers", org: "default" },
  "u-carl": { groups: ["buyers"], org: "default" },
  "u-root": { groups: "roots", org: "default" },
  "u-nobody": { groups: ["lunch", "constructor", "__proto__"], org: "default" },
  "u-none": { org: "default" },
  "u-far": { groups: ["sre"], org: ["default"] },
  "u-odd": { groups: ["sre"], org: "no tenant!" },
  "u-unverified": { groups: ["sre"], email: "olga@acme.example", email_verified: false }
}

/** Listens on a free port of this machine. Its issuer is known before the provider is made. */
const listening = async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return { server, issuer: `http://127.0.0.1:${port}` }
}

/** A provider whose clients come back to these consoles. */
export const identityProvider = async (more: Configuration = {}) => {
  const { issuer, server } = await listening()
  const consoles = new Set<string>()
  const clientAt = (id: string): NonNullable<Configuration["clients"]>[number] => ({
    client_id: id,
    client_secret,
    grant_types: ["authorization_code"],
    response_types: ["code"],
    redirect_uris: [...consoles].map((url) => `${url}/callback`),
    post_logout_redirect_uris: [...consoles].map((url) => `${url}/sign-in`)
  })
  const requests: Array<string> = []
  const make = () => {
    const provider = new Provider(issuer, {
      clients: consoles.size === 0 ? [] : [clientAt(client_id), clientAt("another")],
      claims: { openid: ["sub", "groups", "org"], email: ["email", "email_verified"], profile: [] },
      findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...accounts[id] }) }),
      cookies: { keys: ["a-key-of-the-provider"] },
      ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
      ...more
    })
    return provider.callback()
  }
  let answer = make()
  server.on("request", (request, response) => {
    requests.push(request.url ?? "")
    void answer(request, response)
  })
  return {
    issuer,
    requests,
    /** The provider knows a console at this address from now on. */
    knows: (console: string) => {
      consoles.add(console)
      answer = make()
    },
    /** It answers so from now on. */
    answers: (other: (usual: typeof answer) => typeof answer) => {
      answer = other(make())
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** The options of a service whose console has this provider. */
export const httpWith = (issuer: string, more: Partial<OpenIdOptions> = {}) => ({
  ...http,
  console: {
    openid: {
      issuer,
      client_id,
      client_secret,
      name: "Acme",
      principal: {
        tenant: "default",
        roles: { sre: "operator", readers: ["viewer"], buyers: "customer", roots: "admin" }
      },
      ...more
    }
  }
})

interface Seen {
  readonly url: string
  readonly status: number
  readonly text: string
  /** The addresses that led there. */
  readonly way: ReadonlyArray<string>
}

/** Keeps cookies by host and follows redirects, as a browser does. */
export class WanderingBrowser {
  static #count = 0
  readonly jar = new Map<string, Map<string, string>>()
  /** One of its own: tries to sign in are bounded by address. */
  readonly #address = `198.51.100.${WanderingBrowser.#count++ % 250}`

  cookiesAt(url: string): Map<string, string> {
    const { origin } = new URL(url)
    const known = this.jar.get(origin) ?? new Map<string, string>()
    this.jar.set(origin, known)
    return known
  }

  /** One request, whose answer is not followed. */
  async request(url: string, fields?: Readonly<Record<string, string>>): Promise<Response> {
    const cookies = this.cookiesAt(url)
    const answer = await fetch(url, {
      redirect: "manual",
      headers: {
        cookie: [...cookies].map((each) => each.join("=")).join("; "),
        "x-forwarded-for": this.#address
      },
      ...(fields && { method: "POST", body: new URLSearchParams(fields) })
    })
    for (const set of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      if (value === "") cookies.delete(name)
      else cookies.set(name, value)
    }
    return answer
  }

  async go(url: string, fields?: Readonly<Record<string, string>>): Promise<Seen> {
    const way = [url]
    let answer = await this.request(url, fields)
    for (let location = answer.headers.get("location"); location !== null;) {
      assert.isBelow(way.length, 20, way.join("\n"))
      await answer.body?.cancel()
      const next = new URL(location, way.at(-1)).href
      way.push(next)
      answer = await this.request(next)
      location = answer.headers.get("location")
    }
    return { url: way.at(-1) ?? "", status: answer.status, text: await answer.text(), way }
  }

  /** Sends the form of a page, with what it has and with these fields. */
  async send({ text, url }: Seen, fields: Readonly<Record<string, string>>): Promise<Seen> {
    const [, action = assert.fail(`no form at ${url}: ${text}`)] =
      /<form[^>]* action="([^"]*)"/.exec(text) ?? []
    const hidden = [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
    const own = Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value]))
    return await this.go(new URL(action.replaceAll("&amp;", "&"), url).href, { ...own, ...fields })
  }

  /** Signs in at the provider that a page has led to, and agrees to what it asks. Gives where this led. */
  async signInThere(there: Seen, login: string): Promise<Seen> {
    let page = there
    while (page.url.includes("/interaction/")) {
      page = await this.send(
        page,
        page.text.includes('name="login"') ? { login, password: "x" } : {}
      )
    }
    return page
  }

  /** Presses the way to the provider at the sign-in of a console, and signs in there. */
  async signIn(console: string, login: string, page = ""): Promise<Seen> {
    const to = new URLSearchParams({ to: page })
    return await this.signInThere(await this.go(`${console}/sign-in/provider?${to}`), login)
  }
}
