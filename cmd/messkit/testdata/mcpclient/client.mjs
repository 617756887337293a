// The official TypeScript client against messkit. It asks for a picture, answers,
// cancels and makes mistakes, and ends with code 1 at the first thing that is not
// as it should be.
//
//   node client.mjs stdio COMMAND ARG...     node client.mjs http URL KEYFILE
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceListChangedNotificationSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [kind, target, ...rest] = process.argv.slice(2);
const transport =
  kind === "stdio"
    ? new StdioClientTransport({ command: target, args: rest, env: process.env })
    : new StreamableHTTPClientTransport(new URL(target), {
        requestInit: { headers: { Authorization: "Bearer " + readFileSync(rest[0], "utf8").trim() } },
      });

const client = new Client({ name: "test", version: "1" });
const updated = [];
let listChanged = 0;
const waiting = [];
const happened = () => waiting.splice(0).forEach((go) => go());
client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => (updated.push(n.params.uri), happened()));
client.setNotificationHandler(ResourceListChangedNotificationSchema, () => (listChanged++, happened()));
const until = async (what, ready) => {
  const end = Date.now() + 30000;
  while (!ready()) {
    assert(Date.now() < end, what + " does not come");
    await new Promise((go) => (waiting.push(go), setTimeout(go, 500)));
  }
};

await client.connect(transport);
const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const ok = async (name, args, options) => {
  const r = await call(name, args, options);
  assert(!r.isError, name + ": " + JSON.stringify(r.content));
  assert.doesNotMatch(JSON.stringify(r), /data:[a-z]+\/[a-z]+;base64/);
  return r;
};

// What there is.
const { tools } = await client.listTools();
assert(tools.length <= 8);
assert.match(client.getInstructions(), /mess_request/);
const caps = await ok("mess_capabilities", {});
assert(caps.structuredContent.capabilities.some((c) => c.id === "take-photo"));
const { resourceTemplates } = await client.listResourceTemplates();
assert(resourceTemplates.some((t) => t.uriTemplate === "content://{ref}/{attachment}"));
const helped = await client.readResource({ uri: "mess://help" });
assert.match(helped.contents[0].text, /only the executor reports success/i);

// A picture comes back, as a link and as a picture.
const asked = await ok("mess_request", { intent: "what's in the fridge?" });
const { ref } = asked.structuredContent;
const steps = [];
const done = await ok("mess_wait", { ref, image_max_bytes: 60000 }, { onprogress: (p) => steps.push(p), resetTimeoutOnProgress: true });
assert.equal(done.structuredContent.status, "completed");
assert(steps.length > 0 && steps.every((p, i) => i === 0 || p.progress > steps[i - 1].progress), JSON.stringify(steps));
const image = done.content.find((c) => c.type === "image");
const link = done.content.find((c) => c.type === "resource_link");
const jpeg = Buffer.from(image.data, "base64");
assert(jpeg.length <= 60000 && jpeg[0] === 0xff && jpeg[1] === 0xd8);
const blob = Buffer.from((await client.readResource({ uri: link.uri })).contents[0].blob, "base64");
assert.equal(blob.length, link.size);
writeFileSync("fridge-" + kind + ".jpg", blob);
const envelope = await client.readResource({ uri: `thread://${ref}/envelope` });
assert.match(envelope.contents[0].text, /status: completed/);

// A question, its answer, and what is told meanwhile.
await until("list_changed", () => listChanged > 0);
assert((await client.listResources()).resources.some((r) => r.uri === "thread://" + ref));
const vacuum = (await ok("mess_request", { intent: "vacuum the kitchen", id: "ts-" + kind })).structuredContent.ref;
const question = await ok("mess_wait", { ref: vacuum });
assert.equal(question.structuredContent.status, "needs_input");
await client.subscribeResource({ uri: "thread://" + vacuum });
await ok("mess_answer", { ref: question.structuredContent.needs.ref, answers: { area: "both" } });
await until("updated", () => updated.includes("thread://" + vacuum));
const confirm = await ok("mess_wait", { ref: vacuum });
assert.equal(confirm.structuredContent.status, "needs_confirmation");
const refused = await call("mess_answer", { ref: confirm.structuredContent.needs.ref, confirm: true });
assert(refused.isError && refused.content[0].text.includes("operator"), JSON.stringify(refused));
await ok("mess_cancel", { ref: vacuum, reason: "it was a test" });
assert.equal((await ok("mess_wait", { ref: vacuum })).structuredContent.status, "cancelled");

// Several requests at once, in YAML.
const many = await ok("mess", { message: "- request:\n    id: a\n    intent: is the porch light on?\n- request:\n    id: b\n    intent: is the coffee machine on?\n" });
assert.equal(many.structuredContent.MESS.find((item) => item.ack).ack.requests.length, 2);

// Mistakes are told as results, and do not end the session.
for (const [name, args] of [
  ["mess_wait", {}],
  ["mess_wait", { ref: "nowhere" }],
  ["mess_request", { intent: 42 }],
  ["mess_request", { intent: "look", priority: "huge" }],
  ["mess_answer", { ref, confirm: "yes" }],
  ["mess", { message: "MESS: {" }],
]) {
  const r = await call(name, args);
  assert(r.isError && r.content[0].text.length > 0, name + " " + JSON.stringify(args));
}
await assert.rejects(async () => {
  const r = await call("mess_explode", {});
  if (r.isError) throw new Error(r.content[0].text);
}, /mess_explode/);
await assert.rejects(client.readResource({ uri: "content://nowhere/att-001-image-x.jpg" }));

await client.close();
console.log("all is well over " + kind);
