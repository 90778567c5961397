#!/usr/bin/env bash
# How the OpenAPI document of @directus/specs 15.2.0 describes the body that creates an item.
# One would guess an object with free members, as its answer is described, or no schema at all.
# Seen: the schema is null, which OpenAPI 3.0 does not allow, so a validator refuses the whole document for the main operation
# of the product. A generator that reads "no schema" as "no body" makes a tool that can create nothing. The body that creates a
# field requires the members datatype and length, which none of its properties describes.
# Source: dist/openapi.json of the package, POST of /items/{collection} and of /fields/{collection}.
# Output, 2026-11-29:
#   body that creates an item:  {"application/json":{"schema":null}}
#   answer that lists items:    {"type":"object"}
#   required, not described:    datatype, length
#   guess: an object
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
npm install --silent --no-audit --no-fund @directus/specs@15.2.0
cat >look.cjs <<'END'
const { paths } = require("./node_modules/@directus/specs/dist/openapi.json")

const items = paths["/items/{collection}"]
const { content } = items.post.requestBody
const listed = items.get.responses["200"].content["application/json"].schema.properties.data.items
const field = paths["/fields/{collection}"].post.requestBody.content["application/json"].schema
const unknown = field.required.filter((name) => !(name in field.properties))
console.log("body that creates an item: ", JSON.stringify(content))
console.log("answer that lists items:   ", JSON.stringify(listed))
console.log("required, not described:   ", unknown.join(", "))
console.log("guess: an object")
if (content["application/json"].schema !== null || unknown.join() !== "datatype,length") {
  console.error("No longer so: the document describes these bodies.")
  process.exit(1)
}
END
node look.cjs
