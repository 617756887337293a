// The client of npm's dorita980 against a robot: client.mjs HOST PORT BLID PASSWORD.
// It makes the robot clean, pause, continue, stop, clean a room and dock. After each command it
// waits for the state of the robot, and it prints the states as JSON.
import dorita980 from "dorita980";

const [host, port, blid, password] = process.argv.slice(2);
const robot = new dorita980.Local(blid, password, host, 2, { port: Number(port), emitIntervalTime: 20 });
const states = [];
setTimeout(() => {
  console.log(JSON.stringify({ error: "timeout; states: " + states }));
  process.exit(0);
}, 120000).unref();
let waiting = () => {};
robot.on("state", (state) => waiting(state));

// until waits for a phase, which the robot reports without a question.
const until = (...phases) =>
  new Promise((done) => {
    waiting = ({ cleanMissionStatus: is }) => {
      if (!is || !phases.includes(is.phase)) return;
      waiting = () => {};
      states.push(is.cycle + " " + is.phase);
      done();
    };
  });

const both = (seen, sent) => Promise.all([seen, sent]); // it may be seen before sending is done

try {
  const { cleanMissionStatus, bin, batPct } = await robot.getMission();
  await both(until("run"), robot.start());
  await both(until("stop"), robot.pause());
  await both(until("run"), robot.resume());
  await both(until("stop"), robot.stop());
  await both(until("run"), robot.cleanRoom({ ordered: 1, pmap_id: "map1", regions: [{ region_id: "3", type: "rid" }], user_pmapv_id: "220101T" }));
  await both(until("stop"), robot.pause());
  await both(until("hmUsrDock", "charge"), robot.dock());
  console.log(JSON.stringify({ phase: cleanMissionStatus.phase, bin, battery: batPct, states }));
} catch (err) {
  console.log(JSON.stringify({ error: err.message }));
}
robot.end(true, () => process.exit(0));
