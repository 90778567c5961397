/** `useChat` in a document, unmodified: a text, a question that is approved and one that is denied, and a page that comes back. */
import { JSDOM } from "jsdom"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { Shop } from "./WireScene.ts"
import { ran, shop, tokens } from "./WireScene.ts"

let troupe: Shop
let dom: JSDOM
let mount: typeof import("./chatPage.ts").mount
const names = ["window", "document", "HTMLElement", "Node", "Event"] as const
/** Those that Node has itself. */
const own = names.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const)

beforeAll(async () => {
  troupe = await shop()
  dom = new JSDOM("<!doctype html><body></body>", { url: "http://localhost/" })
  for (const name of names) {
    Object.defineProperty(globalThis, name, { value: dom.window[name], configurable: true })
  }
  // React looks for a document when it is loaded.
  ;({ mount } = await import("./chatPage.ts"))
})
afterAll(async () => {
  await troupe.stop()
  // React has work left of the pages that were left.
  await new Promise((resolve) => setTimeout(resolve, 100))
  dom.window.close()
  for (const [name, before] of own) {
    if (before === undefined) Reflect.deleteProperty(globalThis, name)
    else Object.defineProperty(globalThis, name, before)
  }
})

const seen = async (holds: () => boolean) => {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}

const page = async (id: string, resume = false) => {
  const api = `${troupe.url}/wires/ui-messages/clerk`
  const stored = await fetch(`${api}/${id}/messages`, {
    headers: { authorization: `Bearer ${tokens.carl}` }
  })
  const element = dom.window.document.createElement("div")
  dom.window.document.body.append(element)
  const messages = await stored.json()
  const leave = mount(element, { api, token: tokens.carl, id, resume, messages })
  const text = () => element.textContent ?? ""
  await seen(() => element.querySelector("form") !== null)
  const say = async (what: string) => {
    const input = element.querySelector("input")!
    // React hears of a value that it did not set itself by the setter of the element.
    const { set } = Object.getOwnPropertyDescriptor(dom.window.HTMLInputElement.prototype, "value")!
    set!.call(input, what)
    input.dispatchEvent(new dom.window.Event("input", { bubbles: true }))
    await seen(() => input.value === what)
    element
      .querySelector("form")!
      .dispatchEvent(new dom.window.Event("submit", { bubbles: true, cancelable: true }))
  }
  const press = (label: string) => {
    const button = [...element.querySelectorAll("button")].find((b) => b.textContent === label)
    button!.dispatchEvent(new dom.window.MouseEvent("click", { bubbles: true }))
  }
  return { leave, press, say, text }
}

describe("a page with useChat", () => {
  it("shows an answer, and pays what is approved and nothing that is denied", async () => {
    ran.length = 0
    const { leave, press, say, text } = await page("page-1")
    await say("hello")
    await seen(() => text().includes("You said: hello"))
    await say("refund 1")
    await seen(() => text().includes("refund approval-requested"))
    press("Approve")
    await seen(() => text().includes("Done with refund 1."))
    assert.include(text(), "refund output-available")
    await say("refund 2")
    await seen(() => text().includes("refund approval-requested"))
    press("Deny")
    await seen(() => text().includes("Done with refund 2."))
    assert.include(text(), "refund output-denied")
    assert.deepStrictEqual(ran, ["refund 1"])
    leave()
  })

  it("comes back to the question that it left", async () => {
    ran.length = 0
    const first = await page("page-2")
    await first.say("refund 3")
    await seen(() => first.text().includes("refund approval-requested"))
    first.leave()
    const second = await page("page-2", true)
    assert.include(second.text(), "refund approval-requested")
    second.press("Approve")
    await seen(() => second.text().includes("Done with refund 3."))
    assert.deepStrictEqual(ran, ["refund 3"])
    second.leave()
  })
})
