// The client of npm's onvif against a camera: client.mjs HOST PORT USER PASSWORD.
// It prints what it has found as JSON.
import onvif from "onvif";

const [hostname, port, username, password] = process.argv.slice(2);
const cam = new onvif.Cam({ hostname, port: Number(port), username, password, timeout: 60000, autoconnect: false });
const ask = (what, ...args) =>
  new Promise((done, fail) => cam[what](...args, (err, answer) => (err ? fail(new Error(what + ": " + err.message)) : done(answer))));

try {
  const time = await ask("getSystemDateAndTime");
  await ask("getCapabilities");
  const profiles = await ask("getProfiles");
  const snapshots = [];
  for (const p of profiles) snapshots.push((await ask("getSnapshotUri", { profileToken: p.$.token })).uri);
  console.log(JSON.stringify({ time, profiles: profiles.map((p) => p.name), tokens: profiles.map((p) => p.$.token), snapshots }));
} catch (err) {
  console.log(JSON.stringify({ error: err.message }));
}
