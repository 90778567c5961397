/** The stylesheet of the console. Every colour and size is one of the values at its beginning; dark follows the system. */
export const stylesheet = `
:root {
  color-scheme: light dark;
  --ground: #fafaf8; --raised: #fff; --sunken: #f1f1ed; --line: #e0dfd9; --edge: #c9c7bf;
  --ink: #1c1c1a; --quiet: #595852; --accent: #2b59c8; --accent-ground: #e8eefc;
  --wait: #805300; --wait-ground: #fcf1d8; --good: #1a653b; --good-ground: #e2f3e8; --bad: #ad241c; --bad-ground: #fcebe9;
  --model: #6656c9; --tool: #1d7485; --person: #b97d12;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace;
  --round: 6px;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #151514; --raised: #1d1d1b; --sunken: #111110; --line: #2d2d2a; --edge: #42413d;
    --ink: #ebeae5; --quiet: #aaa9a2; --accent: #92b2ff; --accent-ground: #1d2842;
    --wait: #efbe61; --wait-ground: #34290f; --good: #80d1a1; --good-ground: #152c1e; --bad: #ff9d95; --bad-ground: #3b1a18;
    --model: #aa9df5; --tool: #6ec4d6; --person: #e8ba5c;
  }
}
* { box-sizing: border-box; margin: 0 }
body {
  display: grid; grid-template-columns: 208px minmax(0, 1fr); min-height: 100vh;
  font: 14px/1.5 system-ui, "Segoe UI", "Liberation Sans", sans-serif; font-variant-numeric: tabular-nums;
  color: var(--ink); background: var(--ground);
}
body.bare { display: block } body.bare main { max-width: 460px; margin: 12vh auto 0 }
body.bare form { padding: 16px; display: grid; gap: 8px; margin-top: 16px }
a { color: var(--accent); text-decoration: none } a:hover { text-decoration: underline }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px }
.skip { position: absolute; left: -999px } .skip:focus { left: 8px; top: 8px; z-index: 1; background: var(--raised); padding: 4px 8px }
code, pre, .id { font: 12.5px/1.55 var(--mono) } .id, .quiet { color: var(--quiet) } .small { font-size: 12px }
a .id { color: inherit } .quiet a { text-decoration: underline }
pre { white-space: pre-wrap; overflow-wrap: anywhere; max-height: 420px; overflow: auto; margin-top: 6px }
nav {
  display: flex; flex-direction: column; gap: 1px; position: sticky; top: 0; height: 100vh; padding: 16px 12px; overflow-y: auto;
  background: var(--sunken); border-right: 1px solid var(--line);
}
nav .mark { font-weight: 650; padding: 0 8px 16px; display: flex; justify-content: space-between; align-items: baseline }
nav > a { color: var(--quiet); padding: 5px 8px; border-radius: var(--round) }
nav > a:hover { background: var(--line); color: var(--ink); text-decoration: none }
nav > a[aria-current] { background: var(--raised); color: var(--ink); font-weight: 550; box-shadow: 0 0 0 1px var(--line) }
nav h2 { font-size: 12px; color: var(--quiet); padding: 16px 8px 4px }
nav .who { margin-top: auto; padding: 8px; display: grid; gap: 4px; overflow-wrap: anywhere }
html { overflow-anchor: none } main { padding: 24px 40px 40px; max-width: 1240px; width: 100% } header.page { padding-top: var(--spare, 0) }
.stack .facts { margin: 0 } .stack { display: grid; gap: 16px; grid-template-columns: minmax(0, 1fr) }
h1 { font-size: 20px; font-weight: 620; letter-spacing: -.015em; overflow-wrap: anywhere }
h2 { font-size: 16px; font-weight: 620; overflow-wrap: anywhere } h3 { font-size: 12px; font-weight: 600; color: var(--quiet); margin-bottom: 8px }
header.page { display: flex; flex-wrap: wrap; align-items: baseline; gap: 12px; margin-bottom: 16px } .right { margin-left: auto }
.tag {
  display: inline-flex; gap: 5px; font-size: 12px; font-weight: 550; padding: 1px 7px; border-radius: 99px;
  background: var(--sunken); color: var(--quiet);
}
.tag.wait { background: var(--wait-ground); color: var(--wait) } .tag.good { background: var(--good-ground); color: var(--good) }
.live { position: fixed; right: 16px; bottom: 16px; z-index: 1; max-width: calc(100vw - 32px); pointer-events: none } .live:empty { display: none }
.tag.bad, .problem { background: var(--bad-ground); color: var(--bad) }
.problem, .notice { padding: 8px 12px; border-radius: var(--round); margin: 8px 0 } .notice { background: var(--wait-ground) }
.split { display: grid; grid-template-columns: 340px minmax(0, 1fr); gap: 24px; align-items: start }
.list, .panel { border: 1px solid var(--line); border-radius: var(--round); background: var(--raised) }
.list { overflow: hidden } .list > a { display: block; padding: 10px 12px; border-top: 1px solid var(--line); color: inherit }
.list > a:first-child { border-top: 0 } .list > a:hover { text-decoration: none; background: var(--sunken) }
.list > a[aria-current] { background: var(--accent-ground); box-shadow: inset 2px 0 var(--accent) }
.list b { font-weight: 580; overflow-wrap: anywhere } .list p { color: var(--quiet); overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.top { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 8px; align-items: baseline }
.panel > section { padding: 16px } .panel > section + section { border-top: 1px solid var(--line) } .scroll { overflow-x: auto }
.empty { padding: 40px 24px; text-align: center } .group { margin-bottom: 24px } .group > p { margin-bottom: 8px } .more { margin-top: 16px }
.box { display: inline-flex; gap: 4px; align-items: center } .box input { width: auto }
.search { display: flex; gap: 8px; max-width: 560px; margin-bottom: 12px } .talk { padding: 16px; display: grid; gap: 8px; justify-items: start; margin: 16px 0 }
.fields { display: flex; flex-wrap: wrap; gap: 8px; align-items: end; margin-bottom: 12px } .fields label { flex: 1 1 140px; max-width: 220px; font-size: 12px; color: var(--quiet) }
main > details { margin-bottom: 12px } .talk, .talk-messages { max-width: 860px } .talk-messages { list-style: none; padding: 0 } .talk-messages li { padding: 12px 16px } .user { background: var(--sunken) }
.said { white-space: pre-wrap; overflow-wrap: anywhere }
.filters { display: flex; flex-wrap: wrap; gap: 4px; margin-bottom: 12px } .filters a { padding: 2px 10px; border-radius: 99px; color: var(--quiet) }
.filters a[aria-current] { background: var(--accent-ground); color: var(--accent); font-weight: 550 }
.chain { list-style: none; padding: 0 0 0 14px; border-left: 1px solid var(--edge) } .chain li { position: relative; padding: 2px 0; overflow-wrap: anywhere }
.chain li::before { content: ""; position: absolute; left: -18px; top: 9px; width: 7px; height: 7px; border-radius: 50%; background: var(--edge) }
.chain li:last-child::before { background: var(--wait) }
table { border-collapse: collapse; width: 100% } thead th { font-size: 12px; color: var(--quiet) }
th { text-align: left; font-weight: 600; padding: 6px 12px } th, td { border-bottom: 1px solid var(--line) }
td { padding: 7px 12px; vertical-align: top } :is(thead, tbody:last-child) > tr:last-child > * { border-bottom: 0 } th.num, td.num { text-align: right } td.num, td.line { white-space: nowrap }
td.wide { min-width: 240px; overflow-wrap: anywhere } tr:target { background: var(--accent-ground) }
.args th { width: 170px; vertical-align: top; font: 12.5px/1.6 var(--mono); color: var(--quiet) } .args th, .args td { border: 0; padding: 5px 12px 5px 0; overflow-wrap: anywhere }
.args code { white-space: pre-wrap } del { color: var(--bad); background: var(--bad-ground) } ins { color: var(--good); background: var(--good-ground); text-decoration: none }
del, ins { white-space: pre-wrap; overflow-wrap: anywhere; padding: 1px 3px; border-radius: 3px }
form.arguments { justify-items: stretch; gap: 12px } .arguments > button, .arguments > a { justify-self: start }
.argument { display: grid; grid-template-columns: 150px minmax(0, 1fr); gap: 4px 12px } .argument label { padding-top: 7px; overflow-wrap: anywhere } .argument select { width: auto; max-width: 100% }
.argument .problem { display: block; margin: 4px 0 0 } fieldset { border: 1px solid var(--line); border-radius: var(--round); padding: 8px 12px 12px; min-width: 0; display: grid; gap: 12px } legend { padding: 0 4px }
.facts { display: flex; flex-wrap: wrap; gap: 12px 28px; margin-bottom: 20px } .panel .facts { margin: 0 }
.facts dt { font-size: 12px; color: var(--quiet) } .facts dd { font-weight: 550; overflow-wrap: anywhere }
.actions {
  display: flex; flex-wrap: wrap; gap: 8px; align-items: flex-start; position: sticky; bottom: 0; padding: 12px 16px;
  background: var(--raised); border-top: 1px solid var(--line); border-radius: 0 0 var(--round) var(--round); max-height: 70vh; overflow: auto;
}
.actions > form { display: flex; flex-wrap: wrap; gap: 8px } progress { width: 100%; accent-color: var(--accent) }
.actions:empty { display: none } .actions:has([open] .arguments) { position: static; max-height: none }
button, summary.no, .actions summary {
  font: inherit; font-weight: 550; padding: 5px 12px; border-radius: var(--round); border: 1px solid var(--edge);
  background: var(--raised); color: var(--ink); cursor: pointer;
}
.actions summary, summary.no { list-style: none; width: max-content } summary::-webkit-details-marker { display: none }
details[open] { flex-basis: 100% } details form { display: grid; gap: 8px; margin-top: 8px; justify-items: start }
button.go { background: var(--accent); border-color: var(--accent); color: var(--ground) } button.no, summary.no { color: var(--bad) }
input, textarea, select {
  font: inherit; width: 100%; padding: 6px 8px; color: var(--ink); background: var(--ground);
  border: 1px solid var(--edge); border-radius: var(--round);
}
textarea.json { font: 12.5px/1.55 var(--mono) }
kbd { font: 11px var(--mono); color: var(--quiet); border: 1px solid var(--edge); border-radius: 4px; padding: 0 5px }
button kbd, summary kbd { margin-left: 6px } button.go kbd { color: inherit; border-color: currentColor } @media (scripting: none) { button kbd, summary kbd { display: none } }
dialog { margin: auto; padding: 20px 24px; color: var(--ink); background: var(--raised); border: 1px solid var(--edge); border-radius: var(--round) }
dialog::backdrop { background: rgb(0 0 0 / 35%) } .keys { display: grid; grid-template-columns: auto 1fr; gap: 6px 16px; margin: 12px 0 16px }
.waterfall svg[role] { width: 100%; min-width: 760px; height: auto; display: block } .waterfall { overflow-x: auto; margin-top: 8px }
.legend { display: flex; flex-wrap: wrap; gap: 16px; font-size: 12px; color: var(--quiet) }
svg text { font: 12px system-ui, "Liberation Sans", sans-serif; fill: var(--ink) } svg .t { fill: var(--quiet); font-size: 11px }
svg .end { text-anchor: end } svg .middle { text-anchor: middle } svg .hit { fill: transparent } svg .row:hover .hit { fill: var(--sunken) }
svg .model { fill: var(--model) } svg .tool { fill: var(--tool) } svg .person { fill: var(--person) } svg .open { opacity: .5 }
svg .good { fill: var(--good) } svg .bad { fill: var(--bad) } svg .quiet { fill: var(--edge) } svg .grid { stroke: var(--line) }
.chart { overflow-x: auto; border: 1px solid var(--line); border-radius: var(--round); background: var(--raised); padding: 12px; margin: 8px 0 } .chart svg { width: 100%; min-width: 720px; height: auto; display: block }
svg g:hover > .hit { fill: var(--sunken) } .behind > summary { cursor: pointer; color: var(--accent) } .behind > summary + * { margin-top: 8px } main > h2 { margin: 16px 0 8px } .chart.graph svg { width: auto; min-width: 0; max-width: none } svg .box { fill: var(--ground); stroke: var(--edge) } svg a:hover .box, svg a:focus .box { stroke: var(--accent) } svg .line { fill: none; stroke: var(--quiet) } svg .head { fill: var(--quiet) } svg .hands .line { stroke-dasharray: 4 3 }
.chart.newest { direction: rtl } .chart svg { direction: ltr }
svg .fold { fill: var(--sunken); stroke: var(--line) }
@media (max-width: 860px) {
  body { grid-template-columns: minmax(0, 1fr); grid-template-rows: auto 1fr } nav { position: static; height: auto; flex-flow: row wrap; align-items: center }
  nav .mark { padding: 0 8px } nav h2 { padding: 0 8px; font-weight: 550 } nav .who { margin: 0 0 0 auto; display: flex; flex-wrap: wrap; align-items: center; gap: 8px }
  .live { top: 8px; bottom: auto; border-radius: var(--round) }
  .split { grid-template-columns: minmax(0, 1fr) } main { padding: 16px } .args th { width: 110px } .argument { grid-template-columns: minmax(0, 1fr) } .split > .list { max-height: 40vh; overflow: auto }
}
`
